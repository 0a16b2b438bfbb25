"""Files of a folder are answered with, whole or in part, and nothing else is."""

import os
import time

import pytest

import loomlet

CLOSE = "Connection: close\r\n"


def request(path="/s/small.txt", fields="", method="GET"):
    return f"{method} {path} HTTP/1.1\r\nHost: a\r\n{fields}{CLOSE}\r\n".encode()


def split(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    line, *fields = head.decode().split("\r\n")
    return (
        int(line.split(" ")[1]),
        {n.lower(): v for n, _, v in (f.partition(": ") for f in fields)},
        body,
    )


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "small.txt").write_bytes(b"0123456789" * 10)
    (root / "large.bin").write_bytes(os.urandom(3_000_000))
    (root / "empty.html").write_bytes(b"")
    (root / "sub" / "index.html").write_bytes(b"<p>index")
    (root / ".hidden").write_bytes(b"secret")
    (tmp_path / "outside.txt").write_bytes(b"secret")
    (root / "out").symlink_to(tmp_path / "outside.txt")
    (root / "in").symlink_to("small.txt")
    os.mkfifo(root / "pipe")
    return root


@pytest.fixture
def ask(site, folder):
    def ask(data):
        return split(
            loomlet.run(lambda: site(lambda r: "handler", routes={"/s/": folder}).ask(data))
        )

    return ask


def test_a_file(ask, folder):
    status, fields, body = ask(request())
    assert (status, body) == (200, b"0123456789" * 10)
    assert fields["content-type"] == "text/plain"
    assert fields["content-length"] == "100"
    assert fields["accept-ranges"] == "bytes"
    assert fields["last-modified"].endswith("GMT")
    assert fields["etag"].startswith('"')


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/s/large.bin", 200, None),
        ("/s/empty.html", 200, b""),
        ("/s/sub/", 200, b"<p>index"),
        ("/s/sub", 301, b""),
        ("/s/sub/../small.txt", 200, b"0123456789" * 10),
        ("/s/in", 200, b"0123456789" * 10),
        ("/s/%73mall.txt", 200, b"0123456789" * 10),
        ("/s/missing", 404, b""),
        ("/s/.hidden", 404, b""),
        ("/s/../outside.txt", 404, b""),
        ("/s/%2e%2e/outside.txt", 404, b""),
        ("/s/..%2foutside.txt", 400, b""),
        ("/s/out", 404, b""),
        ("/s/pipe", 404, b""),
        ("/s/small.txt%00.html", 400, b""),
        ("/other", 200, b"handler"),
    ],
)
def test_paths(ask, folder, path, status, body):
    found, fields, got = ask(request(path))
    assert found == status
    assert got == ((folder / "large.bin").read_bytes() if body is None else body)
    if status == 301:
        assert fields["location"] == "/s/sub/"


@pytest.mark.parametrize("path", ["/s/nothing/", "/s/small.txt/", "/s/sub/nothing/"])
def test_no_listing_of_what_is_no_folder(ask, path):
    assert ask(request(path))[0] == 404


def test_a_post_is_not_for_files(ask):
    status, fields, _ = ask(request(method="POST"))
    assert (status, fields["allow"]) == (405, "GET, HEAD")


def test_head(ask):
    status, fields, body = ask(request(method="HEAD"))
    assert (status, fields["content-length"], body) == (200, "100", b"")


@pytest.mark.parametrize(
    ("path", "asked", "expected"),
    [
        ("/s/small.txt", "bytes=10-14", (206, "bytes 10-14/100", 5)),
        ("/s/small.txt", "bytes=-3", (206, "bytes 97-99/100", 3)),
        ("/s/small.txt", "bytes=100-", (416, "bytes */100", 0)),
        ("/s/large.bin", "bytes=1000000-", (206, "bytes 1000000-2999999/3000000", 2000000)),
    ],
)
def test_a_range(ask, folder, path, asked, expected):
    found, fields, body = ask(request(path, f"Range: {asked}\r\n"))
    assert (found, fields["content-range"], len(body)) == expected
    status, shown, size = expected
    if status == 206:
        first = int(shown.split(" ")[1].split("-")[0])
        whole = (folder / path[3:]).read_bytes()
        assert body == whole[first : first + size]


@pytest.mark.parametrize("name", ["small.txt", "large.bin"])
def test_several_ranges(ask, folder, name):
    """Each is a part, with what it is of the whole."""
    status, fields, body = ask(request(f"/s/{name}", "Range: bytes=0-4, 10-19,-3\r\n"))
    kind, _, boundary = fields["content-type"].partition("; boundary=")
    assert (status, kind) == (206, "multipart/byteranges")
    assert fields["content-length"] == str(len(body))
    whole = (folder / name).read_bytes()
    first, *parts, last = body.split(b"\r\n--" + boundary.encode())
    assert (first, last) == (b"", b"--\r\n")
    found = []
    for part in parts:
        head, _, data = part.partition(b"\r\n\r\n")
        found.append((head.split(b"Content-Range: ")[1].decode(), data))
    size = len(whole)
    assert found == [
        (f"bytes 0-4/{size}", whole[:5]),
        (f"bytes 10-19/{size}", whole[10:20]),
        (f"bytes {size - 3}-{size - 1}/{size}", whole[-3:]),
    ]


def test_a_listing(ask, folder):
    """Folders first, hidden files left out, names as they are."""
    (folder / "ä <b>.txt").write_text("x")
    status, fields, body = ask(request("/s/"))
    page = body.decode()
    assert (status, fields["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.index('href="./sub/"') < page.index('href="./small.txt"')
    assert '<a href="./%C3%A4%20%3Cb%3E.txt">ä &lt;b&gt;.txt</a>' in page
    assert ".hidden" not in page


def test_a_listing_is_made_once_for_many(site, folder):
    """And seen anew within a second."""

    def main():
        here = site(lambda r: "handler", routes={"/s/": folder})
        first = here.ask(request("/s/"))
        before = here.server.counts()["requests"]
        again = here.ask(request("/s/"))
        made = here.server.counts()["requests"] - before
        (folder / "late.txt").write_text("x")
        end = time.monotonic() + 5
        while b"late.txt" not in here.ask(request("/s/")) and time.monotonic() < end:
            loomlet.sleep(0.1)  # a second has to pass
        return split(first)[2] == split(again)[2], made, here.ask(request("/s/"))

    same, made, last = loomlet.run(main)
    assert (same, made) == (True, 0)
    assert b"late.txt" in last


def test_a_file_that_has_not_changed(ask, site, folder):
    _, fields, _ = ask(request())
    for field in (
        f"If-None-Match: {fields['etag']}",
        f"If-Modified-Since: {fields['last-modified']}",
    ):
        status, _, body = ask(request(fields=field + "\r\n"))
        assert (status, body) == (304, b"")


def test_a_file_that_changes_is_seen_within_a_second(site, folder):
    def main():
        here = site(lambda r: "handler", routes={"/s/": folder})
        first = here.ask(request())
        (folder / "small.txt").write_bytes(b"new")
        end = time.monotonic() + 5
        while split(here.ask(request()))[2] != b"new" and time.monotonic() < end:
            loomlet.sleep(0.1)  # a second has to pass
        return first, here.ask(request())

    first, last = loomlet.run(main)
    assert (split(first)[2], split(last)[2]) == (b"0123456789" * 10, b"new")


def test_requests_behind_a_large_file(site, folder):
    """It goes out first, and the next one is answered behind it."""
    first = b"GET /s/large.bin HTTP/1.1\r\nHost: a\r\n\r\n"

    def main():
        return site(lambda r: "handler", routes={"/s/": folder}).ask(first * 3 + request("/x"))

    answer = loomlet.run(main)
    assert answer.count((folder / "large.bin").read_bytes()) == 3
    assert answer.endswith(b"handler")
