"""What h11 and httptools read of bytes in which there are requests, for fuzz/requests.py.

h11 is nearly as strict as the engine and written from the grammar, so all that it reads is
compared.  httptools (llhttp, of Node.js) is lenient in part, and is there because it shares no
line with the others: where it refuses a request or finds another end of it, proxies may as well.
What either may do in another way is said in ALLOWED, each with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import h11
import httptools


class Request(NamedTuple):
    """What was read of one."""

    method: bytes
    target: bytes
    fields: tuple[tuple[bytes, bytes], ...]
    body: bytes
    whole: bool
    minor: int = 1
    """The last digit of the version."""


def value_of(request: Request, name: bytes) -> bytes:
    """The values of these fields in small letters, as one."""
    return b",".join(value.lower() for key, value in request.fields if key == name)


# ---- h11 --------------------------------------------------------------------------------------


def read_by_h11(data: bytes) -> list[Request]:
    """The requests in it as far as h11 reads."""
    found: list[Request] = []
    while data:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
        connection.receive_data(data.removeprefix(b"\r\n"))  # it refuses what a server skips
        try:
            request = _read_one(connection)
        except h11.ProtocolError:
            break
        if request is None:
            break
        found.append(request)
        if not request.whole or not _stays_open(connection, request):
            break
        data = connection.trailing_data[0]
    return found


def _read_one(connection: h11.Connection) -> Request | None:
    """One request, perhaps a part of one; ProtocolError for what is none."""
    found: Request | None = None
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Request):
            fields = tuple((bytes(name), bytes(value)) for name, value in event.headers)
            minor = int(event.http_version[2:])
            found = Request(event.method, event.target, fields, b"", False, minor)
        elif isinstance(event, h11.Data) and found is not None:
            found = found._replace(body=found.body + bytes(event.data))
        elif isinstance(event, h11.EndOfMessage) and found is not None:
            return found._replace(whole=True)
        else:
            return found


def _stays_open(connection: h11.Connection, request: Request) -> bool:
    """It ends after each request of HTTP/1.0; the engine takes `keep-alive`."""
    options = [one.strip() for one in value_of(request, b"connection").split(b",")]
    if request.minor == 0:
        return b"keep-alive" in options and b"close" not in options
    return connection.their_state is not h11.MUST_CLOSE


# ---- httptools --------------------------------------------------------------------------------


class _Events:
    """What httptools calls."""

    def __init__(self) -> None:
        self.found: list[Request] = []
        self._in_head = False

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self.found.append(Request(b"", b"", (), b"", False))
        self._in_head = True

    def on_url(self, part: bytes) -> None:
        """A part of the target."""
        self._change(target=self.found[-1].target + part)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A field, or a trailer."""
        if self._in_head:
            field = (name.lower(), value.rstrip(b" \t"))
            self._change(fields=(*self.found[-1].fields, field))

    def on_headers_complete(self) -> None:
        """The end of the head."""
        self._in_head = False

    def on_body(self, part: bytes) -> None:
        """A part of the body."""
        self._change(body=self.found[-1].body + part)

    def on_message_complete(self) -> None:
        """The end."""
        self._change(whole=True)

    def _change(self, **parts: object) -> None:
        self.found[-1] = self.found[-1]._replace(**parts)  # type: ignore[arg-type]


def read_by_httptools(data: bytes) -> list[Request]:
    """The requests in it as far as httptools reads.  It does not say the method of all."""
    found: list[Request] = []
    while data:
        events = _Events()
        parser = httptools.HttpRequestParser(events)
        try:
            parser.feed_data(data)
            data = b""
        except httptools.HttpParserUpgrade as upgrade:
            data = data[upgrade.args[0] :]  # the engine speaks no other protocol, and reads on
        except httptools.HttpParserError:
            data = b""
        found += events.found
    return found


ORACLES = {"h11": read_by_h11, "httptools": read_by_httptools}

# ---- comparing --------------------------------------------------------------------------------


class Allowed(NamedTuple):
    """A difference that is none of the engine's faults."""

    oracles: tuple[str, ...]
    reason: str
    holds: Callable[[Request, bytes], bool]
    """For a request that the engine has read in these bytes."""


EXTENSIONS = re.compile(rb"(?:^|\n)[0-9A-Fa-f]+([ \t;][^\r\n]*)\r")
TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
USUAL_EXTENSIONS = re.compile(rb"(?:;" + TOKEN + rb"(?:=(?:" + TOKEN + rb'|"[^"\\]*"))?)+')
HEEDED_TRAILER = re.compile(
    rb"\n0+(?:[ \t;][^\r\n]*)?\r\n(?:[^\r\n]+\r\n)*"
    rb"(?:content-length|transfer-encoding|connection|upgrade):",
    re.IGNORECASE,
)

TAB_BEHIND_ENCODING = re.compile(rb"\ntransfer-encoding:[^\r\n]*\t[ \t]*\r\n", re.IGNORECASE)


def is_chunked(request: Request) -> bool:
    """Whether its body came in chunks."""
    return value_of(request, b"transfer-encoding") == b"chunked"


def has_odd_extension(data: bytes) -> bool:
    """Whether a chunk may have an extension that is not just names and values."""
    return any(
        USUAL_EXTENSIONS.fullmatch(found.group(1)) is None for found in EXTENSIONS.finditer(data)
    )


METHODS = (b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"TRACE")

ALLOWED = [
    Allowed(
        ("httptools",),
        "it has a list of methods; by RFC 9110, 9.1, any token is one",
        lambda ours, data: ours.method not in METHODS,
    ),
    Allowed(
        ("httptools",),
        "it has a list of versions; by RFC 9110, 2.5, a higher minor version is read as one known",
        lambda ours, data: ours.minor > 1,
    ),
    Allowed(
        ("httptools",),
        "it takes a tab behind an encoding for a part of it; by RFC 9112, 5.1, it is none",
        lambda ours, data: is_chunked(ours) and TAB_BEHIND_ENCODING.search(data) is not None,
    ),
    Allowed(
        ("httptools",),
        "it reads no body of a request for another protocol; by RFC 9110, 7.8, who does not change "
        "the protocol goes on as if nobody had asked",
        lambda ours, data: b"upgrade" in value_of(ours, b"connection"),
    ),
    Allowed(
        ("h11", "httptools"),
        "they refuse blanks in extensions, which RFC 9112, 7.1.1, wants read, and look at their "
        "order; the engine drops them, so it looks only at which bytes they hold",
        lambda ours, data: is_chunked(ours) and has_odd_extension(data),
    ),
    Allowed(
        ("h11", "httptools"),
        "they heed trailers about the body and the connection, or refuse them; by RFC 9110, 6.5.1, "
        "the engine ignores them",
        lambda ours, data: HEEDED_TRAILER.search(data) is not None,
    ),
]


def in_one_form(request: Request) -> Request:
    """As it would be written by each of them."""
    fields = tuple(
        (name, value.lower() if name == b"transfer-encoding" else value)
        for name, value in request.fields
    )
    return request._replace(fields=fields)


def compare(oracle: str, data: bytes, ours: list[Request], theirs: list[Request]) -> str | None:
    """What the engine has read in these bytes and the oracle has not, or otherwise; None."""
    for number, request in enumerate(ours):
        if not request.whole:
            return None
        other = theirs[number] if number < len(theirs) else None
        if other is not None and oracle == "httptools":
            other = other._replace(method=request.method, minor=request.minor)
        if other is not None and in_one_form(request) == in_one_form(other):
            continue
        if any(one.holds(request, data) for one in ALLOWED if oracle in one.oracles):
            return None
        return f"{oracle} reads request {number} as {other}, the engine as {request}"
    return None
