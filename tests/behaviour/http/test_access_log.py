"""The access log: a line for each request, and no memory for those that nobody reads."""

import logging

import pytest

import loomlet
from loomlet.http import HTTPError

LAST = b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def get(path, fields=b""):
    return b"GET %b HTTP/1.1\r\nHost: a\r\n%b\r\n" % (path, fields)


def handler(request):
    if request.path == "/error":
        raise HTTPError(418, "teapot")
    return request.read() or "hello"


def test_each_request_is_a_line(site, caplog, tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    caplog.set_level(logging.INFO, "loomlet.http.access")

    def main():
        pattern = "%(h)s %(r)s %(s)s %(B)s %(f)s %(a)s %(U)s?%(q)s"
        here = site(handler, access_log=pattern, routes={"/fixed": "fixed", "/s/": tmp_path})
        asked = get(b"/a?b=c", b"Referer: page\r\nUser-Agent: me\r\n") + get(b"/fixed")
        here.ask(asked + get(b"/s/file") + get(b"/error") + LAST)
        while len(caplog.messages) < 5:
            loomlet.sleep(0)

    loomlet.run(main)
    assert caplog.messages == [
        "127.0.0.1 GET /a?b=c HTTP/1.1 200 5 page me /a?b=c",
        "127.0.0.1 GET /fixed HTTP/1.1 200 5 - - /fixed?",
        "127.0.0.1 GET /s/file HTTP/1.1 200 5 - - /s/file?",
        "127.0.0.1 GET /error HTTP/1.1 418 6 - - /error?",
        "127.0.0.1 GET /last HTTP/1.1 200 5 - - /last?",
    ]


def test_requests_of_http2_are_lines(with_client, caplog, tmp_path):
    """By the same format."""
    pytest.importorskip("h2", reason="no h2: pip install 'loomlet[http2]'")
    (tmp_path / "file").write_bytes(bytes(300_000))
    caplog.set_level(logging.INFO, "loomlet.http.access")
    agent = [("user-agent", "me"), ("x-forwarded-for", "192.0.2.1"), ("x-forwarded-for", "::1")]

    def act(client):
        client.get("/a?b=c", fields=agent)
        client.get("/fixed", "HEAD")
        client.get("/s/file", fields=[("referer", "page")])
        client.get("/error")
        while len(caplog.messages) < 4:
            loomlet.sleep(0)

    options = {"routes": {"/fixed": "fixed", "/s/": tmp_path}, "proxies": "127.0.0.1"}
    pattern = "%(h)s %(r)s %(s)s %(B)s %(f)s %(a)s %(U)s?%(q)s %(H)s"
    with_client(handler, act, access_log=pattern, **options)
    assert caplog.messages == [
        "::1 GET /a?b=c HTTP/2 200 5 - me /a?b=c HTTP/2",
        "127.0.0.1 HEAD /fixed HTTP/2 200 0 - - /fixed? HTTP/2",
        "127.0.0.1 GET /s/file HTTP/2 200 300000 page - /s/file? HTTP/2",
        "127.0.0.1 GET /error HTTP/2 418 6 - - /error? HTTP/2",
    ]


def test_a_format_that_is_none(site):
    with pytest.raises(ValueError, match=r"expected a format of the access log.*found '%\(x\)s'"):
        site(handler, access_log="%(x)s")


def test_a_log_that_stands_still_costs_lines_and_no_memory(site, caplog):
    """What has no room is counted, and the count is logged when it goes on."""
    go_on = loomlet.Event()
    access = logging.getLogger("loomlet.http.access")
    count = 12_000
    asked = []

    class Slow(logging.Handler):
        def emit(self, record):
            go_on.wait()

    def written():
        return [text for text in caplog.messages if text.startswith("GET /")]

    def lost():
        return sum(record.args[0] for record in caplog.records if record.levelname == "WARNING")

    def main():
        here = site(handler, access_log="%(r)s", routes={"/fixed": "fixed"})
        with loomlet.timeout(60):
            got = here.ask(get(b"/fixed") * (count - 1) + get(b"/fixed", b"Connection: close\r\n"))
            assert got.count(b"HTTP/1.1 200 OK\r\n") == count
            go_on.set()
            while "GET /last HTTP/1.1" not in caplog.messages:  # there may be no room for it yet
                here.ask(LAST)
                asked.append(LAST)
            while len(written()) + lost() < count + len(asked):
                loomlet.sleep(0)

    slow = Slow()
    caplog.set_level(logging.INFO, "loomlet.http.access")
    access.addHandler(slow)
    try:
        loomlet.run(main)
    finally:
        access.removeHandler(slow)
    assert len(written()) + lost() == count + len(asked)
    assert written().count("GET /fixed HTTP/1.1") <= 5_000
