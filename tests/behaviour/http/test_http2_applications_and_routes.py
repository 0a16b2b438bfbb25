"""HTTP/2 in front of WSGI, ASGI, files and other routes."""

import json

import pytest

import loomlet

pytest.importorskip("h2")

from helpers_http2 import Client


def hello(request):
    return "hello"


# ---- applications -------------------------------------------------------------------------------


def test_an_application_of_wsgi(with_client):
    def application(environ, start_response):
        write = start_response("201 Made", [("X-A", "1")])
        assert callable(write)
        yield environ["wsgi.input"].readline()
        shown = ["SERVER_PROTOCOL", "PATH_INFO", "QUERY_STRING", "HTTP_HOST", "HTTP_X_Y"]
        yield json.dumps([environ[key] for key in shown]).encode()

    def act(client):
        fields = [("x-y", "1"), ("x-y", "2"), ("x_y", "3")]
        number = client.ask("/a%20b?c", "POST", fields=fields, end=False)
        client.send(number, b"line\nrest")
        client.wait(number)
        return client.status[number], client.fields[number]["x-a"], client.body[number]

    answer = with_client(None, act, application=application)
    assert answer == ("201", "1", b'line\n["HTTP/2", "/a b", "c", "a", "1,2"]')


def asgi(function):
    async def application(scope, receive, send):
        if scope["type"] == "lifespan":
            raise NotImplementedError
        await function(scope, receive, send)

    return application


def test_an_application_of_asgi(with_client):
    seen = []

    @asgi
    async def application(scope, receive, send):
        seen.append(scope)
        body = b""
        while True:
            message = await receive()
            body += message["body"]
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": bytes(300_000)})

    def act(client):
        number = client.ask("/a%20b?c", "POST", end=False)
        client.send(number, bytes(200_000))
        client.wait(number)
        return client.fields[number]["a"], len(client.body[number])

    assert with_client(None, act, application=application) == ("b", 500_000)
    assert seen[0]["http_version"] == "2"
    assert (seen[0]["path"], seen[0]["raw_path"]) == ("/a b", b"/a%20b")
    assert seen[0]["headers"] == [(b"host", b"a")]


def test_an_application_of_asgi_is_told_that_the_client_has_gone(with_client):
    seen = loomlet.Channel(1)
    begun = loomlet.Event()

    @asgi
    async def application(scope, receive, send):
        await receive()
        begun.set()
        seen.try_send((await receive())["type"])

    def act(client):
        number = client.ask()
        begun.wait()
        client.h2.reset_stream(number)
        client.flush()
        return seen.receive()

    assert with_client(None, act, application=application) == "http.disconnect"


# ---- routes -------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a b.txt").write_text("0123456789")
    (tmp_path / ".hidden").write_text("secret")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "index.html").write_text("<p>")
    (tmp_path / "sub" / "more").mkdir()
    (tmp_path / "out").symlink_to("/etc")
    return tmp_path


@pytest.mark.parametrize(
    "path, fields, status, body",
    [
        ("/fixed", [], "200", b"fixed"),
        ("/handler", [], "200", b"/handler"),
        ("/other", [], "200", b"application"),
        ("/s/a%20b.txt", [], "200", b"0123456789"),
        ("/s/a%20b.txt", [("range", "bytes=2-4")], "206", b"234"),
        ("/s/a%20b.txt", [("range", "bytes=-3")], "206", b"789"),
        ("/s/a%20b.txt", [("range", "bytes=8-")], "206", b"89"),
        ("/s/a%20b.txt", [("range", "bytes=10-")], "416", b""),
        ("/s/a%20b.txt", [("range", "bytes=4-2")], "200", b"0123456789"),
        ("/s/a%20b.txt", [("range", "bytes=1-2"), ("if-range", '"x"')], "200", b"0123456789"),
        ("/s/a%20b.txt", [("if-none-match", "*")], "304", b""),
        ("/s/sub", [], "301", b""),
        ("/s/sub/", [], "200", b"<p>"),
        ("/s/none", [], "404", b"Not Found\n"),
        ("/s/.hidden", [], "404", b"Not Found\n"),
        ("/s/../../etc/passwd", [], "404", b"Not Found\n"),
        ("/s/%2e%2e/%2e%2e/etc/passwd", [], "404", b"Not Found\n"),
        ("/s/out/passwd", [], "404", b"Not Found\n"),
    ],
)
def test_routes(with_client, folder, path, fields, status, body):  # noqa: PLR0917
    routes = {"/fixed": "fixed", "/handler": lambda request: request.path, "/s/": folder}
    answer = with_client(
        lambda request: "application",
        lambda client: client.get(path, fields=fields),
        routes=routes,
    )
    assert answer == (status, body)


def test_a_folder_without_an_index_is_listed(with_client, folder):
    status, body = with_client(hello, lambda client: client.get("/s/"), routes={"/s/": folder})
    assert status == "200"
    assert b"a b.txt" in body and b"hidden" not in body


def test_a_file_is_for_reading(with_client, folder):
    act = lambda client: client.get("/s/a%20b.txt", "DELETE")[0]  # noqa: E731
    assert with_client(hello, act, routes={"/s/": folder}) == "405"


def test_files_have_the_tag_that_they_have_by_http_1(site, folder):
    def main():
        here = site(hello, routes={"/s/": folder})
        head = here.ask(b"HEAD /s/a%20b.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        with here.connect() as stream, loomlet.timeout(20):
            client = Client(stream)
            number = client.ask("/s/a%20b.txt", "HEAD")
            client.wait(number)
            return head.decode().split("\r\n"), client.fields[number]

    lines, fields = loomlet.run(main)
    for name in ("ETag", "Last-Modified", "Content-Type", "Content-Length"):
        assert f"{name}: {fields[name.lower()]}" in lines
