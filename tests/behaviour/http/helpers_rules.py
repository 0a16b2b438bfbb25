"""Rules of HTTP as rows: what is sent, and what must come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
"""Behind every request that closes the connection, and in bodies: it is never answered."""
NEXT = b"GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
"""Behind every request that keeps the connection open: it is answered."""


class Rule(NamedTuple):
    """A row.  `section`: of RFC 9110 or 9112.

    In `sent` {tag} stands for the tag of /s/file, and {http} for the scheme and two slashes.
    """

    rule: str
    section: str
    sent: bytes
    statuses: tuple[int, ...]
    stays: bool
    """Whether the connection stays open."""
    says: tuple[bytes, ...] = ()
    """What the answers hold."""
    lacks: tuple[bytes, ...] = ()
    """What the first one, and what comes before it, does not hold."""
    body: bytes | None = None
    """Of the first answer."""
    at_once: bool = False
    """It holds only where all arrives at once."""

    @property
    def whole(self) -> bytes:
        """With what follows on the same connection."""
        sent = self.sent + (NEXT if self.stays else SMUGGLED)
        for scheme in (b"http", b"https"):
            sent = sent.replace(b"{%s}" % scheme, scheme + b":" + b"//")
        return sent


def stays(rule: str, section: str, sent: bytes, *statuses: int, **expected) -> Rule:
    """These answers, and the connection stays open."""
    return Rule(rule, section, sent, statuses, True, **expected)


def closes(rule: str, section: str, sent: bytes, *statuses: int, **expected) -> Rule:
    """These answers, and the connection is closed."""
    return Rule(rule, section, sent, statuses, False, **expected)


# ---- what is sent -----------------------------------------------------------------------------


def get(
    fields: bytes = b"",
    target: bytes = b"/",
    method: bytes = b"GET",
    version: bytes = b"HTTP/1.1",
    host: bytes = b"Host: a\r\n",
) -> bytes:
    """A request without a body."""
    return method + b" " + target + b" " + version + b"\r\n" + host + fields + b"\r\n"


def post(fields: bytes, body: bytes, target: bytes = b"/", version: bytes = b"HTTP/1.1") -> bytes:
    """A request with these fields and bytes behind it."""
    return get(fields, target, b"POST", version) + body


def chunked(body: bytes, target: bytes = b"/") -> bytes:
    """A request whose body is in chunks."""
    return post(b"Transfer-Encoding: chunked\r\n", body, target)


# ---- what comes -------------------------------------------------------------------------------


class Answer(NamedTuple):
    """One that is whole."""

    status: int
    fields: dict[bytes, bytes]
    body: bytes
    text: bytes
    """Its head, behind those of interim answers."""


def _split_chunks(data: bytes) -> tuple[bytes, bytes]:
    """The body at the beginning, and what is behind it."""
    parts, at = [], 0
    while True:
        line = data.index(b"\r\n", at)
        begin, size = line + 2, int(data[at:line], 16)
        at = begin + size + 2
        assert data[begin + size : at] == b"\r\n", "a chunk has no end"
        if size == 0:
            return b"".join(parts), data[at:]
        parts.append(data[begin : begin + size])


def _split_body(
    status: int, fields: dict[bytes, bytes], data: bytes, is_head: bool
) -> tuple[bytes, bytes]:
    if is_head or status in (204, 304) or status < 200:
        return b"", data
    if fields.get(b"transfer-encoding") == b"chunked":
        return _split_chunks(data)
    if b"content-length" not in fields:
        return data, b""
    length = int(fields[b"content-length"])
    assert len(data) >= length, "a body is too short"
    return data[:length], data[length:]


def answers_of(data: bytes, first_is_head: bool) -> Iterator[Answer]:
    """All final answers; the first one may be to HEAD."""
    is_head, text = first_is_head, b""
    while data:
        head, end, data = data.partition(b"\r\n\r\n")
        assert end and head.startswith(b"HTTP/1.1 "), head
        lines = head.split(b"\r\n")
        fields = {
            name.lower(): value for name, _, value in (line.partition(b": ") for line in lines[1:])
        }
        status = int(lines[0][9:12])
        text += head + end
        body, data = _split_body(status, fields, data, is_head)
        if status >= 200:
            yield Answer(status, fields, body, text)
            is_head, text = False, b""
