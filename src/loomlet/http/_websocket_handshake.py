"""The handshake of a WebSocket (RFC 6455, section 4): what is asked, what is refused and answered.

The engine has read the head, so only its fields are looked at here.  Nothing is sent before all has
been checked: what is wrong is an HTTPError, and the connection goes on as HTTP.

Origins.  A browser lets any page open a WebSocket to any server, and sends the server's cookies
along; it always says which page it was, in Origin.  Other clients send none, or what they like, so
a request without one is let in: a list of origins protects users of browsers, and nobody else.

Threads.  Plain functions without state.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterable, Sequence
from hashlib import sha1

from loomlet import _core
from loomlet.http._errors import HTTPError

__all__ = ["Asked", "asks_for_websocket", "check_handshake", "switching"]

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""What RFC 6455 says."""

UPGRADE = (("Upgrade", "websocket"), ("Connection", "Upgrade"))
VERSION = ("Sec-WebSocket-Version", "13")
NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
VALUE = re.compile(rb"[^\0-\x08\x0a-\x1f\x7f]*")


class Asked:
    """What a client asks for: the key, and the protocols and extensions that it offers."""

    __slots__ = ("extensions", "key", "subprotocols")

    def __init__(self, key: str, subprotocols: list[str], extensions: list[str]) -> None:
        self.key = key
        self.subprotocols = subprotocols
        self.extensions = extensions

    def choose(self, supported: Sequence[str]) -> str | None:
        """The first of the supported protocols that the client offers, if there is one."""
        return next((name for name in supported if name in self.subprotocols), None)


def _items(request: _core.HttpRequest, name: str) -> list[str]:
    """The parts between the commas of all fields of that name."""
    values = (value for key, value in request.headers if key.lower() == name)
    return [item for value in values for part in value.split(",") if (item := part.strip())]


def asks_for_websocket(request: _core.HttpRequest) -> bool:
    """Whether the client wants one; the handshake may still be wrong."""
    return request._upgrades and any(
        item.lower() == "websocket" for item in _items(request, "upgrade")
    )


def _check_key(request: _core.HttpRequest) -> str:
    keys = _items(request, "sec-websocket-key")
    try:
        if len(keys) == 1 and len(base64.b64decode(keys[0], validate=True)) == 16:
            return keys[0]
    except (binascii.Error, ValueError):
        pass
    raise HTTPError(400, "expected one Sec-WebSocket-Key of 16 bytes\n")


def check_handshake(request: _core.HttpRequest, origins: Collection[str] | None = None) -> Asked:
    """What the client asks for.  HTTPError if it asks for no WebSocket, or not from there."""
    if not asks_for_websocket(request):
        raise HTTPError(426, "expected the handshake of a WebSocket\n", UPGRADE)
    if request.method != "GET" or not request._body_over:
        raise HTTPError(400, "expected GET without a body\n")
    if _items(request, "sec-websocket-version") != ["13"]:
        raise HTTPError(426, "expected version 13 of WebSocket\n", (*UPGRADE, VERSION))
    key = _check_key(request)
    if origins is not None and not set(_items(request, "origin")) <= set(origins):
        raise HTTPError(403, "not from this origin\n")
    return Asked(
        key, _items(request, "sec-websocket-protocol"), _items(request, "sec-websocket-extensions")
    )


def _line(name: str | bytes, value: str | bytes) -> bytes:
    name = name.encode("latin-1") if isinstance(name, str) else bytes(name)
    value = value.encode("latin-1") if isinstance(value, str) else bytes(value)
    if not NAME.fullmatch(name) or not VALUE.fullmatch(value):
        raise ValueError(f"no header field: {(name, value)!r}")
    return name + b": " + value + b"\r\n"


def switching(
    asked: Asked,
    subprotocol: str | None,
    extension: str | None,
    fields: Iterable[tuple[str | bytes, str | bytes]] = (),
) -> bytes:
    """The answer that accepts.  ValueError if it would be none."""
    accept = base64.b64encode(sha1(asked.key.encode() + MAGIC).digest())
    lines = [_line(*pair) for pair in UPGRADE]
    lines.append(_line("Sec-WebSocket-Accept", accept))
    if subprotocol is not None:
        lines.append(_line("Sec-WebSocket-Protocol", subprotocol))
    if extension is not None:
        lines.append(_line("Sec-WebSocket-Extensions", extension))
    lines.extend(_line(*pair) for pair in fields)
    return b"HTTP/1.1 101 Switching Protocols\r\n" + b"".join(lines) + b"\r\n"
