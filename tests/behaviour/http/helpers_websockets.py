"""A client of WebSockets that writes its frames by hand, so that it can write wrong ones."""

from __future__ import annotations

import struct

TEXT, BINARY, CLOSE, PING, PONG, MORE = 1, 2, 8, 9, 10, 0
KEY = b"dGhlIHNhbXBsZSBub25jZQ=="
ACCEPT = b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="  # that of RFC 6455 for this key


def handshake(path=b"/", fields=b""):
    return (
        b"GET %b HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: %b\r\nSec-WebSocket-Version: 13\r\n%b\r\n" % (path, KEY, fields)
    )


def frame(opcode, payload=b"", *, end=True, reserved=0, masked=True, mask=b"\x01\x02\x03\x04"):
    first = (0x80 if end else 0) | reserved | opcode
    size = len(payload)
    bit = 0x80 if masked else 0
    if size < 126:
        head = bytes([first, bit | size])
    elif size < 65536:
        head = struct.pack("!BBH", first, bit | 126, size)
    else:
        head = struct.pack("!BBQ", first, bit | 127, size)
    if not masked:
        return head + payload
    return head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))


def close_frame(code=1000, reason=b""):
    return frame(CLOSE, struct.pack("!H", code) + reason)


class Peer:
    """Behind its handshake, on a stream."""

    def __init__(self, stream, path=b"/", fields=b""):
        self.stream = stream
        self._kept = b""
        stream.send_all(handshake(path, fields))
        while b"\r\n\r\n" not in self._kept:
            data = stream.receive_some()
            assert data, self._kept
            self._kept += data
        self.head, _, self._kept = self._kept.partition(b"\r\n\r\n")

    def send(self, *frames):
        self.stream.send_all(b"".join(frames))

    def _take(self, count):
        while len(self._kept) < count:
            data = self.stream.receive_some()
            if not data:
                raise EOFError
            self._kept += data
        taken, self._kept = self._kept[:count], self._kept[count:]
        return taken

    def receive(self):
        """The next frame: (opcode, payload)."""
        first, size = self._take(2)
        if size == 126:
            (size,) = struct.unpack("!H", self._take(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self._take(8))
        return first & 15, self._take(size)

    def end(self):
        """The code that the server closes with, behind whatever it sends before; then the end.

        It answers that also where it has said goodbye itself: what comes too late is dropped.
        """
        while True:
            opcode, payload = self.receive()
            if opcode == CLOSE:
                (code,) = struct.unpack("!H", payload[:2])
                self.send(close_frame(code))
                assert not b"".join(self.stream)
                return code
