"""What a program gets wrong is said where it is wrong: expected, found, and what to do."""

import io
import logging
from pathlib import Path

import pytest

from loomlet.http import HTTPError, Limits, Response, Server

GET = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def fine(request):
    return "fine"


async def awaited(request):
    return "never"


class Awaited:
    async def __call__(self, request):
        return "never"


MADE = [
    ({}, TypeError, "expected either a handler or an application"),
    ({"handler": 3}, TypeError, "expected a handler, a function of a request, found 3"),
    ({"handler": awaited}, TypeError, "an async function is not a handler.*application="),
    ({"handler": Awaited()}, TypeError, "an async function is not a handler.*application="),
    ({"application": 3}, TypeError, "expected an application of WSGI or ASGI, .*found 3"),
    ({"application": fine, "interface": "wsg"}, ValueError, "'wsgi', 'asgi' or None.*'wsg'"),
    ({"handler": fine, "tls": True}, TypeError, "expected an ssl.SSLContext as tls, found True"),
    ({"handler": fine, "limits": {"queue": 1}}, TypeError, r"expected Limits\(…\).*found \{"),
    ({"handler": fine, "routes": ["/a"]}, TypeError, "expected a dict of paths.*found \\['/a'\\]"),
    ({"handler": fine, "routes": {"a": b""}}, ValueError, "begins with a slash, found 'a'"),
    ({"handler": fine, "routes": {b"/a": b""}}, TypeError, "expected a path .*found b'/a'"),
    ({"handler": fine, "routes": {"/a": 3}}, TypeError, "'/a'.*expected bytes, text.*found 3"),
    ({"handler": fine, "routes": {"/a": io.BytesIO()}}, TypeError, "'/a'.*expected bytes, text"),
    ({"handler": fine, "routes": {"/a": awaited}}, TypeError, "'/a': an async function"),
    ({"handler": fine, "access_log": True}, ValueError, r"such as '%\(h\)s .*found True"),
    ({"handler": fine, "access_log": "%(nope)s"}, ValueError, "no name 'nope'"),
]


@pytest.mark.parametrize(("options", "kind", "words"), MADE)
def test_a_server_is_not_made_from_what_it_cannot_use(options, kind, words):
    with pytest.raises(kind, match=words):
        Server(port=0, **options).close()


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"concurrency": 0}, "expected concurrency of at least 1, found 0"),
        ({"connections": -1}, "expected connections of at least 1, found -1"),
        ({"queue": -1}, "expected queue of at least 0, found -1"),
        ({"request": -1}, "expected request of at least 0, found -1"),
        ({"keep_alive": "5"}, "expected keep_alive as a whole number, found '5'"),
        ({"sending": None}, "expected sending as a whole number, found None"),
        ({"head": True}, "expected head as a whole number, found True"),
    ],
)
def test_limits_are_checked(limit, words):
    with pytest.raises((ValueError, TypeError), match=words):
        Server(fine, port=0, limits=Limits(**limit)).close()


def test_limits_may_be_none_where_there_may_be_none():
    Server(fine, port=0, limits=Limits(request=None, slow=None, queue=0)).close()


def test_a_route_names_a_folder_that_is_there(tmp_path):
    missing = tmp_path / "missing"
    with pytest.raises(FileNotFoundError, match=r"'/a/'.*there is not a folder .*missing"):
        Server(fine, port=0, routes={"/a/": missing}).close()
    missing.write_text("a file")
    with pytest.raises(NotADirectoryError, match=r"'/a/'.*missing.* is not a folder"):
        Server(fine, port=0, routes={"/a/": missing}).close()
    with pytest.raises(ValueError, match="end with a slash"):
        Server(fine, port=0, routes={"/a": Path(tmp_path)}).close()


RETURNED = [
    (lambda: ("text", 404), r"a tuple: return Response\('text', 404\)"),
    (lambda: ("text",), "a tuple"),
    (lambda: HTTPError(404), "raise it"),
    (lambda: 3, "from the handler, found 3"),
    (lambda: Response("a", headers={"X-A": "b"}), r"pairs.*items\(\)"),
]


@pytest.mark.parametrize(("result", "words"), RETURNED)
def test_what_is_no_answer_is_logged_and_answered_with_500(ask_once, caplog, result, words):
    with caplog.at_level(logging.ERROR, "loomlet.http"):
        answer = ask_once(lambda request: result(), GET)
    assert answer.startswith(b"HTTP/1.1 500 ")
    (record,) = caplog.records
    assert record.exc_info is not None
    with pytest.raises(TypeError, match=words):
        raise record.exc_info[1]


def test_a_coroutine_that_a_function_returns_is_no_answer(ask_once, caplog):
    """Seen only when it is called: it is closed, so nothing warns that it was not awaited."""
    answer = ask_once(lambda request: awaited(request), GET)
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert "an async function is not a handler" in caplog.text


def test_a_part_that_is_none_is_named(ask_once, caplog):
    def handler(request):
        yield "a"
        yield 3

    answer = ask_once(handler, GET)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert not answer.endswith(b"0\r\n\r\n")  # no client takes the part for the whole
    assert "expected parts of bytes or str, found 3" in caplog.text
