"""Floods of HTTP/2: what a client may send, counted before the frames are read.

The protocol lets a client make the server work for frames that cost it nothing.  h2 checks each
frame, but counts none, and waits for all of a frame that is too large before it refuses it.  So
Guard walks over the heads of the frames in front of it:

* a frame is at most FRAME bytes, which is what we have announced;
* the fields of a request are at most HEADERS bytes as they are sent, in HEADERS and CONTINUATION
  together; h2 has the same limit for what they are when they are unpacked;
* PING, SETTINGS, PRIORITY, empty DATA and CONTINUATION frames and those that nobody knows are
  counted, and so are the streams that were reset: so many in SECONDS, then the client is sent away.

WINDOW_UPDATE is not counted: a large download needs many of them, and one costs no more than the
few bytes that it lets go.

Threads.  The tasklet that reads, alone.

Rejected: limits per connection for ever (a connection may live for days); delays instead of an end
(they keep what the attacker has occupied).
"""

from __future__ import annotations

from loomlet import _core

__all__ = ["CALM", "FRAME", "HEADERS", "SIZE", "Flood", "Guard"]

FRAME = 16384
HEADERS = 65536
SECONDS = 10.0
MOST_CONTROL = 1000
MOST_RESETS = 200

SIZE = 6
"""FRAME_SIZE_ERROR"""
CALM = 11
"""ENHANCE_YOUR_CALM"""

PREFACE = 24
DATA, HEADERS_FRAME, WINDOW_UPDATE, CONTINUATION = 0, 1, 8, 9
END_STREAM = 1


class Flood(Exception):
    """Flood(code, text): the connection ends with that error code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(code, text)
        self.code = code


class _Rate:
    """So many in SECONDS."""

    __slots__ = ("_begun", "_count", "_most", "_what")

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._count = 0
        self._begun = _core.now()

    def add(self) -> None:
        """One more."""
        self._count += 1
        if self._count > self._most:
            now = _core.now()
            if now - self._begun < SECONDS:
                raise Flood(CALM, f"too many {self._what}")
            self._begun, self._count = now, 1


class Guard:
    """Looks at all that comes; raises Flood."""

    __slots__ = ("_block", "_control", "_head", "_resets", "_skip")

    def __init__(self) -> None:
        self._skip = PREFACE
        self._head = bytearray()
        self._block = 0  # bytes of the fields that are being sent
        self._control = _Rate(MOST_CONTROL, "frames that carry nothing")
        self._resets = _Rate(MOST_RESETS, "streams that are reset")

    def look(self, data: bytes) -> None:
        """The next bytes of the connection."""
        at = 0
        while at < len(data):
            if self._skip > 0:
                step = min(self._skip, len(data) - at)
                self._skip -= step
                at += step
                continue
            part = data[at : at + 9 - len(self._head)]
            self._head += part
            at += len(part)
            if len(self._head) == 9:
                self._look_at(self._head)
                self._head.clear()

    def _look_at(self, head: bytearray) -> None:
        size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        if size > FRAME:
            raise Flood(SIZE, "a frame is too large")
        if kind in (HEADERS_FRAME, CONTINUATION):
            self._block = size if kind == HEADERS_FRAME else self._block + size
            if self._block > HEADERS:
                raise Flood(CALM, "the header fields are too large")
        is_empty = size == 0 and not flags & END_STREAM
        if kind not in (DATA, HEADERS_FRAME, WINDOW_UPDATE, CONTINUATION) or is_empty:
            self._control.add()
        self._skip = size

    def note_reset(self) -> None:
        """A stream was reset, by the client or for its mistake."""
        self._resets.add()
