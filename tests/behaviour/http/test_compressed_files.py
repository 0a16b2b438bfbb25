"""Files and listings are compressed for those who take it, if the server was told to."""

import gzip
import os
import time
import zlib

import pytest

import loomlet

TEXT = b"<p>some text</p>\n" * 100
LATER = 10_000_000


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "page.html").write_bytes(TEXT)
    (tmp_path / "both.css").write_bytes(TEXT)
    for suffix in ("br", "gz", "zst"):
        (tmp_path / f"both.css.{suffix}").write_bytes(f"bytes of {suffix}".encode())
    (tmp_path / "old.css").write_bytes(TEXT)
    (tmp_path / "old.css.gz").write_bytes(b"old bytes")
    os.utime(tmp_path / "old.css.gz", (1, 1))
    (tmp_path / "small.html").write_bytes(b"small")
    (tmp_path / "picture.png").write_bytes(TEXT)
    (tmp_path / "large.html").write_bytes(TEXT * 1000)
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "index.html").write_bytes(TEXT)
    (tmp_path / "list").mkdir()
    for n in range(20):
        (tmp_path / "list" / f"file {n}").touch()
    return tmp_path


def get(here, path, *fields, method=b"GET"):
    """Status, fields and body."""
    head = [method + b" /" + path + b" HTTP/1.1", b"Host: a", b"Connection: close", *fields]
    answer = here.ask(b"\r\n".join([*head, b"", b""]))
    start, _, body = answer.partition(b"\r\n\r\n")
    line, *lines = start.decode().split("\r\n")
    return int(line.split()[1]), dict(each.split(": ", 1) for each in lines), body


@pytest.fixture
def with_files(site, folder):
    """Runs a function with a server of that folder."""

    def run(act, compress=True):
        def main():
            return act(site(lambda request: None, routes={"/": folder}, compress=compress))

        return loomlet.run(main)

    return run


GZIP = b"Accept-Encoding: gzip"


def test_a_text_file_is_compressed_once(with_files):
    def act(here):
        return [get(here, b"page.html", GZIP) for _ in range(2)], here.server.counts()

    answers, counts = with_files(act)
    for status, fields, body in answers:
        assert (status, gzip.decompress(body)) == (200, TEXT)
        assert fields["Content-Encoding"] == "gzip"
        assert fields["Content-Type"] == "text/html"
        assert fields["Vary"] == "Accept-Encoding"
        assert "Accept-Ranges" not in fields
    assert answers[0][1]["ETag"] == answers[1][1]["ETag"]
    assert answers[0][1]["Last-Modified"] == answers[1][1]["Last-Modified"]
    assert (counts["requests"], counts["answered"]) == (1, 1)


def test_each_form_has_a_tag_of_its_own(with_files):
    def act(here):
        plain = get(here, b"page.html")
        packed = get(here, b"page.html", GZIP)
        tag = f"If-None-Match: {packed[1]['ETag']}".encode()
        return plain, packed, get(here, b"page.html", GZIP, tag), get(here, b"page.html", tag)

    plain, packed, known, other = with_files(act)
    assert plain[1]["ETag"] != packed[1]["ETag"]
    assert plain[1]["Vary"] == "Accept-Encoding"
    assert plain[2] == TEXT
    assert known[0] == 304
    assert other[0] == 200


@pytest.mark.parametrize(
    ("accepted", "body", "coding"),
    [
        (b"gzip, deflate, br, zstd", b"bytes of br", "br"),
        (b"gzip, zstd", b"bytes of zst", "zstd"),
        (b"GZIP", b"bytes of gz", "gzip"),
        (b"br;q=0, *", b"bytes of zst", "zstd"),
        (b"gzip;q=0.0, br ; q=0", TEXT, None),
        (b"gzip;q=0.001", b"bytes of gz", "gzip"),
        (b"identity, deflate", TEXT, None),
        (b"", TEXT, None),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_a_file_that_lies_beside_it(  # noqa: PLR0917
    with_files, with_client, folder, accepted, body, coding, version
):
    if version == 1:
        _, fields, found = with_files(
            lambda here: get(here, b"both.css", b"Accept-Encoding: " + accepted)
        )
    else:
        pytest.importorskip("h2")
        fields, found = by_http_2(with_client, folder, "/both.css", accepted)
        fields = {name.title(): value for name, value in fields.items()}
    assert found == body
    assert fields.get("Content-Encoding") == coding
    assert fields["Content-Type"] == "text/css"
    assert fields["Vary"] == "Accept-Encoding"


def by_http_2(with_client, folder, path, accepted=b"gzip"):
    def act(client):
        stream = client.ask(path, fields=[("accept-encoding", accepted.decode())])
        client.wait(stream)
        return client.fields[stream], client.body[stream]

    return with_client(lambda request: None, act, routes={"/": folder}, compress=True)


@pytest.mark.parametrize("path", ["/page.html", "/index/", "/list/"])
def test_by_http_2(with_client, folder, path):
    pytest.importorskip("h2")
    fields, body = by_http_2(with_client, folder, path)
    assert fields["content-encoding"] == "gzip"
    assert b"<" in gzip.decompress(body)


def test_one_that_is_older_is_not_used(with_files):
    _, fields, body = with_files(lambda here: get(here, b"old.css", GZIP))
    assert fields["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == TEXT


@pytest.mark.parametrize("name", [b"small.html", b"picture.png", b"large.html"])
def test_what_is_not_worth_it(with_files, name):
    _, fields, _ = with_files(lambda here: get(here, name, GZIP))
    assert "Content-Encoding" not in fields


def test_an_index_and_a_listing(with_files):
    def act(here):
        return get(here, b"index/", GZIP), [get(here, b"list/", GZIP) for _ in range(2)]

    index, listings = with_files(act)
    assert gzip.decompress(index[2]) == TEXT
    for _, fields, body in listings:
        assert fields["Content-Encoding"] == "gzip"
        assert b"file 19" in gzip.decompress(body)


def test_ranges_are_those_of_the_file(with_files):
    status, fields, body = with_files(
        lambda here: get(here, b"page.html", GZIP, b"Range: bytes=3-6")
    )
    assert (status, body) == (206, b"some")
    assert "Content-Encoding" not in fields


def test_a_head_has_the_fields_of_the_answer(with_files):
    def act(here):
        first = get(here, b"page.html", GZIP, method=b"HEAD")
        return first, get(here, b"page.html", GZIP), get(here, b"page.html", GZIP, method=b"HEAD")

    first, got, last = with_files(act)
    for status, fields, body in (first, last):
        assert (status, body) == (200, b"")
        assert fields["Content-Length"] == str(len(got[2]))


def test_a_file_that_changes_is_compressed_again(with_files, folder):
    def act(here):
        get(here, b"page.html", GZIP)
        (folder / "page.html").write_bytes(TEXT + b"new")
        end = time.monotonic() + 20
        while (body := gzip.decompress(get(here, b"page.html", GZIP)[2])) == TEXT:
            assert time.monotonic() < end
            loomlet.sleep(0.1)  # a file is looked at once a second
        return body

    assert with_files(act) == TEXT + b"new"


def test_many_clients_wait_for_one(with_files, monkeypatch):
    """A large file is compressed in a thread, once."""
    from loomlet.http import _compressing

    made = []

    def count(*arguments):
        made.append(arguments)
        return zlib.compress(*arguments)

    class Counting:
        compress = staticmethod(count)

    monkeypatch.setattr(_compressing, "AT_ONCE", 0)
    monkeypatch.setattr(_compressing, "zlib", Counting)

    def act(here):
        return loomlet.map(lambda _: get(here, b"page.html", GZIP)[2], range(20))

    assert {gzip.decompress(body) for body in with_files(act)} == {TEXT}
    assert len(made) <= 2


@pytest.mark.slow
def test_what_was_compressed_is_bounded(with_files, folder):
    """Of more than the cache holds all are answered, and the last ones are found again."""
    texts = {f"n{n}.txt".encode(): os.urandom(400_000).hex().encode() for n in range(90)}
    for name, text in texts.items():
        (folder / name.decode()).write_bytes(text)

    def act(here):
        for name, text in texts.items():
            assert gzip.decompress(get(here, name, GZIP)[2]) == text
        before = here.server.counts()["answered"]
        last, first = [*texts][-1], next(iter(texts))
        get(here, last, GZIP)
        assert here.server.counts()["answered"] == before + 1
        get(here, first, GZIP)
        return here.server.counts()["answered"] - before

    assert with_files(act) == 1


def test_it_is_off_by_default(with_files):
    _, fields, body = with_files(lambda here: get(here, b"both.css", GZIP), compress=False)
    assert body == TEXT
    assert "Vary" not in fields


def test_who_waits_for_a_compression_that_was_killed_compresses_itself(with_files, monkeypatch):
    """It is not told that there is no such file."""
    from loomlet.http import _compressing

    real, begun = _compressing.compress, []

    def compress(data):
        begun.append(loomlet.current())
        if len(begun) == 1:
            loomlet.Event().wait()
        return real(data)

    monkeypatch.setattr(_compressing, "compress", compress)

    def act(here):
        with loomlet.timeout(20):
            loomlet.spawn(here.ask, b"GET /page.html HTTP/1.1\r\nHost: a\r\n%b\r\n\r\n" % GZIP)
            while not begun:
                loomlet.sleep(0.001)
            others = [loomlet.spawn(get, here, b"page.html", GZIP) for _ in range(2)]
            while here.server.counts()["busy"] < 3:
                loomlet.sleep(0.001)
            begun[0].kill()
            answers = [task.result() for task in others]
            return [(status, gzip.decompress(body)) for status, _, body in answers]

    assert with_files(act) == [(200, TEXT)] * 2
