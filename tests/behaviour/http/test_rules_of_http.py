"""The server keeps the rules of RFC 9110 and 9112, row by row."""

import os

import helpers_rules_of_answers as answers
import helpers_rules_of_bodies as bodies
import helpers_rules_of_choices as choices
import helpers_rules_of_heads as heads
import pytest
from helpers_rules import SMUGGLED, Rule, answers_of

import loomlet
from loomlet.http import Limits, Response

ROWS = [*heads.RULES, *bodies.RULES, *answers.RULES, *choices.RULES]
MODIFIED = 784111777
NAMES = [f"{row.section}: {row.rule}" for row in ROWS]


def handler(request):
    """Says what it was asked, or does what the path says."""
    path = request.raw_path
    if path in ("/204", "/205", "/304"):
        return Response("text", status=int(path[1:]))
    if path == "/205/parts":
        return Response(iter(["te", "xt"]), status=205)
    if path == "/stream":
        return iter(["a", "", "bc"])
    if path == "/unread":
        return "unread"
    if path == "/fails":
        raise ArithmeticError("a handler that fails")
    body = request.read()
    if path == "/fields":
        return "".join(f"{name}={value};" for name, value in request.headers)
    return f"{request.method} {path} {request.host} ".encode() + body


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    for name, data in (("file", b"0123456789" * 10), ("empty", b"")):
        (tmp_path / name).write_bytes(data)
        os.utime(tmp_path / name, (MODIFIED, MODIFIED))
    return tmp_path


@pytest.fixture
def exchange(site, folder):
    """What comes for a row whose bytes are sent in pieces of this size, and the paths that the
    handler saw."""

    def exchange(row, piece):
        seen = []

        def noting(request):
            seen.append(request.raw_path)
            return handler(request)

        def main():
            routes = {"/fixed": "fixed", "/s/": folder}
            here = site(noting, routes=routes, limits=Limits(request_body=1000), http2=False)
            data = row.whole
            if b"{tag}" in data:
                data = data.replace(b"{tag}", tag_of_file(here))
            step = piece or len(data)
            return here.ask(None, [data[at : at + step] for at in range(0, len(data), step)])

        return loomlet.run(main), seen

    return exchange


def tag_of_file(site):
    answer = site.ask(b"GET /s/file HTTP/1.0\r\n\r\n")
    return answer.partition(b"ETag: ")[2].partition(b"\r\n")[0]


def check(row: Rule, data: bytes, seen: list[str]) -> None:
    """What has come is what the row says, and nothing else."""
    found = list(answers_of(data, row.sent.startswith(b"HEAD ")))
    statuses = [answer.status for answer in found]
    assert statuses == [*row.statuses, *([200] if row.stays else [])]
    assert "/smuggled" not in seen
    assert ("/next" in seen) == row.stays
    missing = [text for text in row.says if text not in data]
    unwanted = [text for text in row.lacks if text in found[0].text]
    assert (missing, unwanted) == ([], [])
    assert row.body is None or found[0].body == row.body
    assert found[-1].fields[b"connection"] == b"close"


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_what_arrives_at_once(exchange, row):
    check(row, *exchange(row, None))


PIECEWISE = [row for row in ROWS if not row.at_once]


@pytest.mark.parametrize("row", PIECEWISE, ids=[f"{row.section}: {row.rule}" for row in PIECEWISE])
def test_what_arrives_in_pieces(exchange, row):
    """Byte by byte, or in more bytes where it is long: the same comes."""
    check(row, *exchange(row, 1 if len(row.sent) < 1000 else 997))


def test_each_rule_has_a_name_of_its_own():
    assert len(set(NAMES)) == len(NAMES) > 220


def test_what_is_smuggled_would_be_answered(exchange):
    """Behind a request that keeps the connection open; so the rows above can fail."""
    row = Rule("", "", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" + SMUGGLED, (200, 200), True)
    assert exchange(row, None)[1] == ["/", "/smuggled", "/next"]
