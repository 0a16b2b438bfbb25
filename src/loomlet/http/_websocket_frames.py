"""Frames of a WebSocket, by wsproto: this is the one module that imports it.

It gets what the core does not read: messages in several frames or compressed, control frames, and
mistakes.  It does not see the messages in between, which have no effect on its state.

wsproto reads and writes frames; what an extension does with the bytes inside of them is up to us,
and two things of its own would not do.  It decompresses all that a frame holds at once, so a few
kilobytes could become gigabytes; and it forgets in the middle of a compressed message that it is
one, if a ping comes in between.  So Payload decompresses here, as far as the limit of a message
allows and no further, and uses wsproto for the agreement on compression and for what goes out.

The limit counts the bytes of a message after decompression, before they are put together.

Threads.  One tasklet reads, others write, never two of them at once; reading and writing have no
state in common but that of the connection, which wsproto checks.
"""

from __future__ import annotations

import zlib
from typing import Any

from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, Pong, TextMessage
from wsproto.extensions import PerMessageDeflate
from wsproto.frame_protocol import CloseReason, Opcode, RsvBits
from wsproto.utilities import LocalProtocolError

__all__ = [
    "BytesMessage",
    "CloseConnection",
    "ConnectionState",
    "LocalProtocolError",
    "Payload",
    "Ping",
    "Pong",
    "TextMessage",
    "new_frames",
]

DEFLATE = "permessage-deflate"
TAIL = b"\x00\x00\xff\xff"
"""What a compressed message ends with and does not send (RFC 7692)."""

WINDOW = 12
"""Bits of what the compressor remembers, unless the client wants another number: 16 KB, not 128."""

PARAMETERS = {
    "client_no_context_takeover",
    "server_no_context_takeover",
    "client_max_window_bits",
    "server_max_window_bits",
}


def _accept(offer: str) -> tuple[Any, str] | None:
    """wsproto's compressor, and what is answered to such an offer, if it can be accepted."""
    name, *parameters = [part.strip() for part in offer.split(";")]
    if name != DEFLATE or not {part.split("=")[0].strip() for part in parameters} <= PARAMETERS:
        return None
    deflate = PerMessageDeflate(server_max_window_bits=WINDOW)
    try:
        answer = deflate.accept(offer)
    except ValueError:
        return None
    if not isinstance(answer, str):
        return None
    return deflate, f"{DEFLATE}; {answer}" if answer else DEFLATE


class Payload:
    """What is done with the bytes of messages; wsproto takes it for an extension.

    `answer` is what the handshake says of it, or None: then nothing is compressed.  `max_size`:
    bytes of a message.
    """

    name = DEFLATE

    def __init__(self, offers: list[str], max_size: int) -> None:
        accepted = next((found for offer in offers if (found := _accept(offer))), (None, None))
        self._deflate: Any = accepted[0]
        self.answer: str | None = accepted[1]
        self.max_size = max_size
        self._size = 0  # of the present message, so far
        self._compressed = False
        self._control = False
        self._ended = False  # the compressed stream, in the midst of a message
        self._inflate: Any = None

    def enabled(self) -> bool:
        """For wsproto."""
        return True

    def frame_inbound_header(self, proto: Any, opcode: Any, rsv: Any, size: int) -> Any:
        """A frame begins: which of the reserved bits it may have."""
        self._control = opcode.iscontrol()
        begins = not self._control and opcode is not Opcode.CONTINUATION
        if rsv.rsv1 and not (begins and self._deflate):
            return CloseReason.PROTOCOL_ERROR
        if begins:
            self._compressed = rsv.rsv1
            self._size = 0
        if not self._control and not self._compressed and self._size + size > self.max_size:
            return CloseReason.MESSAGE_TOO_BIG
        return RsvBits(rsv.rsv1, False, False)

    def frame_inbound_payload_data(self, proto: Any, data: bytes) -> Any:
        """Bytes of a frame: those of the message."""
        if self._control:
            return data
        if self._compressed:
            return self._decompress(data)
        self._size += len(data)
        return data

    def frame_inbound_complete(self, proto: Any, fin: bool) -> Any:
        """A frame has ended: what is still missing of the message."""
        if self._control or not fin or not self._compressed:
            return None
        rest = self._decompress(TAIL) if self._inflate is not None else None
        if self._deflate.client_no_context_takeover:
            self._inflate = None
        self._ended = False
        return rest

    def _decompress(self, data: bytes) -> Any:
        if self._inflate is None and not self._ended:
            self._inflate = zlib.decompressobj(-int(self._deflate.client_max_window_bits))
        if self._inflate is None:
            return CloseReason.INVALID_FRAME_PAYLOAD_DATA if data.strip(b"\0") else b""
        try:
            out = self._inflate.decompress(data, self.max_size - self._size + 1)
        except zlib.error:
            return CloseReason.INVALID_FRAME_PAYLOAD_DATA
        self._size += len(out)
        if self._size > self.max_size:
            return CloseReason.MESSAGE_TOO_BIG
        if self._inflate.eof:
            return self._end_stream(out)
        return out

    def _end_stream(self, out: bytes) -> Any:
        """The client has ended its stream: the next message begins a new one."""
        ends_well = not self._inflate.unused_data.strip(b"\0")
        self._inflate = None
        self._ended = True
        return out if ends_well else CloseReason.INVALID_FRAME_PAYLOAD_DATA

    def frame_outbound(self, proto: Any, opcode: Any, rsv: Any, data: bytes, fin: bool) -> Any:
        """For wsproto."""
        if self._deflate is None:
            return rsv, data
        return self._deflate.frame_outbound(proto, opcode, rsv, data, fin)


def new_frames(payload: Payload) -> Any:
    """A connection of wsproto behind its handshake."""
    extensions: Any = [payload]
    return Connection(ConnectionType.SERVER, extensions)
