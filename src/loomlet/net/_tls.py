"""TLS over a stream: OpenSSL through the `ssl` module, which sees memory only and never waits.

Two buffers (ssl.MemoryBIO) lie between OpenSSL and the stream.  An operation is one step of
OpenSSL, which takes ciphertext out of one buffer and leaves ciphertext in the other; if it needs
more, the tasklet waits for the stream, and the step is repeated.

The direction of ciphertext is not that of the plaintext: a handshake, a key update or a
renegotiation make a reader write and a writer read.  So each direction of the stream is protected
by a lock, whichever tasklet uses it:

  _engine    around every step of OpenSSL and its buffers; never held while waiting for the stream
  _filling   held while waiting for ciphertext.  A tasklet that had to wait for this lock first
             repeats its step, because its data may have arrived in the meantime (`_filled` counts)
  _flushing  held while sending ciphertext, in the order in which OpenSSL made it
  _sending   held by a send_all, so that two are not mixed
  _receiving held by a receive_..., so that no other gets bytes of a receive_exactly
  _shaking   held by the handshake

A reader never waits for a lock that a writer holds while it waits: with a peer that reads nothing
until it has been read from, both would wait for ever.  A writer also sends the ciphertext that a
reader has produced; without a writer the reader sends it, before it waits.

Interruptions.  A tasklet may end at any instruction (kill, Ctrl-C), and every wait may be ended by
a time limit.  So data move between the stream, the buffers and the list of unsent parts in one call
of C code (`map`, `extend`), which cannot be interrupted, and waiting is separate from taking.  A
reader may therefore be ended at any time, and the next reader continues.  A sender that is ended
while ciphertext is going out has sent an unknown part of a record: the stream is `_torn`, and later
sends raise an error.

Threads.  Only one thread at a time enters OpenSSL, so a stream may be used from any thread; and
each send_all goes out in one piece.

Rejected: a nonblocking SSLSocket (it owns its socket, and a wait for its descriptor misses data
that OpenSSL has already read); a tasklet for each direction (three tasklets for a connection, and
errors without a place to go); waiting in close() for the peer's close_notify, which is not usual.
"""

from __future__ import annotations

import copy
import errno
import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from loomlet._core import Descriptor, Lock
from loomlet._public import show_in
from loomlet.errors import DescriptorClosed, end_of_stream
from loomlet.net._lines import LONGEST, split_lines
from loomlet.net._streams import Listener, Stream

if TYPE_CHECKING:
    from loomlet._core import _Buffer

__all__ = ["TLSListener", "TLSStream"]

A = TypeVar("A")
D = TypeVar("D", bound=Descriptor)
T = TypeVar("T")

SOME = 65536
PIECE = 262144  # bytes to encrypt before they are sent


class _Wrapper(Generic[D]):
    """The common part of TLS over a stream and over a listener."""

    __slots__ = ("__weakref__", "_under")

    def __init__(self, under: D) -> None:
        self._under = under

    @property
    def closed(self) -> bool:
        """True after close()."""
        return self._under.closed

    def fileno(self) -> int:
        """The descriptor number.  Raises DescriptorClosed."""
        return self._under.fileno()

    def close(self) -> None:
        """Closes it; waiting tasklets get DescriptorClosed, iterations end.  May be repeated."""
        self._under.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} over {self._under!r}>"


class TLSStream(_Wrapper[Stream]):
    """TLSStream(stream, context, *, server_side=False, server_hostname=None): TLS over a stream.

    It takes the stream over; net.connect() and net.listen() with `tls` create one.  `context` is an
    ssl.SSLContext, `server_hostname` the name that a client expects.  ValueError if the context
    checks the name and none is given.

    The handshake takes place at the first use, or in handshake().  Receiving raises
    ssl.SSLEOFError if the connection ends without notice of the peer: data may have been cut off.
    Any thread; one tasklet may send while another one receives.
    """

    __slots__ = (
        "_ahead",
        "_broken",
        "_ended",
        "_engine",
        "_filled",
        "_filling",
        "_flushing",
        "_incoming",
        "_outgoing",
        "_receiving",
        "_sending",
        "_shaken",
        "_shaking",
        "_torn",
        "_unsent",
        "ssl_object",
    )

    def __init__(
        self,
        stream: Stream,
        context: ssl.SSLContext,
        *,
        server_side: bool = False,
        server_hostname: str | None = None,
    ) -> None:
        if context.check_hostname and not server_side and server_hostname is None:
            raise ValueError(
                "expected a server_hostname, because the context checks it, found None; "
                "give the name of the server"
            )
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.ssl_object = context.wrap_bio(
            self._incoming, self._outgoing, server_side, server_hostname
        )
        super().__init__(stream)
        self._engine, self._filling, self._flushing = Lock(), Lock(), Lock()
        self._sending, self._receiving, self._shaking = Lock(), Lock(), Lock()
        self._filled = 0
        self._unsent: list[bytes] = []
        self._ahead = bytearray()  # plaintext that send_eof() had to read
        self._shaken = self._ended = self._torn = False
        self._broken: ssl.SSLError | None = None

    # ---- attributes ----

    @property
    def local(self) -> Any:
        """The address of this end, as the socket module gives it."""
        return self._under.local

    @property
    def peer(self) -> Any:
        """The address of the other end."""
        return self._under.peer

    def version(self) -> str | None:
        """The protocol, such as "TLSv1.3"; None before the handshake."""
        return self.ssl_object.version()

    def cipher(self) -> tuple[str, str, int] | None:
        """The cipher's name, its protocol and its secret bits; None before the handshake."""
        return self.ssl_object.cipher()

    def selected_alpn_protocol(self) -> str | None:
        """The protocol that both ends have agreed on by ALPN, or None."""
        return self.ssl_object.selected_alpn_protocol()

    def peer_certificate(self, binary_form: bool = False) -> Any:
        """The peer's certificate as ssl.SSLSocket.getpeercert() gives it.

        ValueError before the handshake.
        """
        return self.ssl_object.getpeercert(binary_form)

    # ---- operations ----

    def handshake(self) -> None:
        """Agrees with the peer on keys; otherwise the first use does that.  May be repeated.

        Raises ssl.SSLError, and ssl.SSLCertVerificationError for an untrusted certificate; the
        stream cannot be used then.  An interrupted handshake is continued by the next call.
        """
        self._operate(self._shaking, TLSStream._shake, None)

    def receive_some(self, max_bytes: int = SOME, /) -> bytes:
        """Waits until data arrive and returns them, at most that many bytes.

        b'' if the peer has ended its side; ssl.SSLEOFError if it did so without notice.
        """
        if max_bytes < 1:
            raise ValueError(f"expected a number of bytes of at least 1, found {max_bytes}")
        return self._operate(self._receiving, TLSStream._read, max_bytes)

    def receive_exactly(self, count: int, /) -> bytes:
        """Waits until that many bytes have arrived and returns them.

        Raises EndOfStream, with the bytes that arrived as its `partial`, if the peer ends its side
        before.
        """
        if count < 0:
            raise ValueError(f"expected a number of bytes of at least 0, found {count}")
        return self._operate(self._receiving, TLSStream._read_exactly, count)

    def receive_into(self, buffer: _Buffer, /) -> int:
        """Waits until data arrive, writes them into the buffer, and returns how many bytes.

        0 if the peer has ended its side.
        """
        view = memoryview(buffer).cast("B")
        if view.readonly:
            raise TypeError(f"expected a writable buffer, found {buffer!r}")
        if not view:
            raise ValueError("expected a buffer with room, found an empty one")
        return self._operate(self._receiving, TLSStream._read_into, view)

    def __iter__(self) -> Iterator[bytes]:
        """The data that arrive, until the peer ends its side or this end is closed."""
        with suppress(DescriptorClosed):
            while data := self.receive_some():
                yield data

    def lines(self, max_bytes: int = LONGEST) -> Iterator[bytes]:
        """The lines that arrive, without their b"\\n" or b"\\r\\n", until nothing more comes.

        The last one may have no end.  ValueError if one is longer than `max_bytes`.
        """
        return split_lines(self, max_bytes)

    def send_all(self, data: _Buffer, /) -> None:
        """Sends all of it; waits while the peer does not read.

        If it is interrupted, it is unknown how much was sent, and the stream may be unusable for
        sending; then the next call raises an error.
        """
        self._operate(self._sending, TLSStream._write, memoryview(data).cast("B"))

    def send_eof(self) -> None:
        """Notifies the peer that nothing more will be sent (close_notify); receiving still works.

        The peer may end its side as well, and with TLS 1.2 many do.
        """
        self._operate(self._sending, TLSStream._end, None)

    def close(self) -> None:
        """Closes it; waiting tasklets get DescriptorClosed, iterations end.  Never waits.

        The peer is notified (close_notify) if the system accepts that at once and no send_all is
        half done; else the peer sees an unclean end.  May be repeated.  Any thread.
        """
        if self._under.closed:
            return
        try:
            last = self._final_ciphertext()
            with suppress(DescriptorClosed):
                [mine] = map(Stream, map(Stream.detach, (self._under,)))
                with mine, suppress(OSError):
                    os.write(mine.fileno(), last)
                    os.read(mine.fileno(), SOME)  # unread data would reset the connection
        finally:
            self._under.close()

    # ---- operations, each holding its lock ----

    def _operate(self, lock: Lock, work: Callable[[TLSStream, A], T], about: A) -> T:
        """work(self, about) after the handshake, under a lock."""
        if not self._shaken and lock is not self._shaking:
            self.handshake()
        with lock:
            return work(self, about)

    def _shake(self, _: None) -> None:
        if not self._shaken:
            self._step(self.ssl_object.do_handshake)
            self._flush()
            self._shaken = True

    def _read(self, most: int) -> bytes:
        if self._ahead:
            with self._engine:
                data = bytes(self._ahead[:most])
                del self._ahead[:most]
            return data
        return self._step(self._decrypt, most)

    def _read_exactly(self, count: int) -> bytes:
        parts: list[bytes] = []
        left = count
        while left:
            part = self._read(min(left, SOME))
            if not part:
                raise end_of_stream(self, count, b"".join(parts))
            parts.append(part)
            left -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _read_into(self, view: memoryview) -> int:
        data = self._read(min(len(view), SOME))
        view[: len(data)] = data
        return len(data)

    def _write(self, view: memoryview) -> None:
        if self._ended:
            raise BrokenPipeError(errno.EPIPE, f"cannot send on {self!r} after send_eof()")
        done = 0
        while done < len(view):
            done += self._step(self.ssl_object.write, view[done:])
            if self._outgoing.pending >= PIECE:
                self._flush()
        self._flush()

    def _end(self, _: None) -> None:
        if not self._ended:
            self._step(self._send_close_notify)
        self._flush()

    # ---- steps of OpenSSL ----

    def _step(self, take: Callable[..., T], *args: Any) -> T:
        """take(*args), a step of OpenSSL, repeated until it needs no more data."""
        while True:
            self._under.fileno()
            if self._broken is not None:
                raise copy.copy(self._broken)
            with self._engine:
                filled = self._filled
                try:
                    return take(*args)
                except ssl.SSLWantReadError:
                    pass
                except ssl.SSLError as error:
                    self._broken = copy.copy(error)
            with suppress(OSError):  # a reader continues even if its own ciphertext cannot be sent
                self._flush(wait=False)
            if self._broken is None:
                self._fill(filled)

    def _decrypt(self, most: int) -> bytes:
        """Holding _engine.  b'' at a clean end."""
        try:
            return self.ssl_object.read(most)
        except ssl.SSLZeroReturnError:
            return b""

    def _send_close_notify(self) -> None:
        """Holding _engine.  Reads pending data first: OpenSSL would treat them as an error."""
        with suppress(ssl.SSLWantReadError):
            while data := self._decrypt(SOME):
                self._ahead += data
        self._ended = True
        with suppress(ssl.SSLWantReadError):
            self.ssl_object.unwrap()

    # ---- between OpenSSL and the stream ----

    def _fill(self, filled: int) -> None:
        """Waits for ciphertext, unless some has arrived since `filled` was read."""
        with self._filling:
            if self._filled != filled:
                return
            self._under.wait_readable()
            with self._engine:
                self._filled += 1
                [count] = map(self._incoming.write, map(self._under.receive_some, (SOME,)))
                if count == 0:
                    self._incoming.write_eof()

    def _flush(self, wait: bool = True) -> None:
        """Sends the pending ciphertext; without `wait`, leaves it to a sender that is at work."""
        while self._outgoing.pending or self._unsent:
            if not wait and self._flushing.locked():
                return
            with self._flushing:
                if self._torn:
                    raise ssl.SSLError(
                        f"cannot send on {self!r}: a send was interrupted in the middle of a "
                        "record; close the stream"
                    )
                self._collect()
                self._send_unsent()

    def _collect(self) -> None:
        with self._engine:
            self._unsent.extend(iter(self._outgoing.read, b""))

    def _send_unsent(self) -> None:
        """Holding _flushing.  The stream is torn if this is interrupted."""
        while self._unsent:
            self._torn = True
            self._under.send_all(self._unsent[0])
            del self._unsent[0]
            self._torn = False

    def _final_ciphertext(self) -> bytes:
        """The ciphertext that close() sends."""
        locks = (self._flushing, self._engine)
        if not self._shaken or self._torn or self._broken or any(lock.locked() for lock in locks):
            return b""
        with self._flushing:
            with self._engine, suppress(ssl.SSLError):
                self.ssl_object.unwrap()
            self._collect()
            return b"".join(self._unsent)


class TLSListener(_Wrapper[Listener]):
    """TLSListener(listener, context): accepts connections by TLS.

    It takes the listener over.  accept() does not wait for the handshake; the tasklet that uses the
    connection does it first, so a slow handshake does not hold up other connections.
    """

    __slots__ = ("context",)

    def __init__(self, listener: Listener, context: ssl.SSLContext) -> None:
        super().__init__(listener)
        self.context = context

    def accept(self) -> TLSStream:
        """Waits for a connection and returns its stream."""
        return TLSStream(self._under.accept(), self.context, server_side=True)

    def __iter__(self) -> Iterator[TLSStream]:
        """Connections, until the listener is closed."""
        with suppress(DescriptorClosed):
            while True:
                yield self.accept()

    @property
    def local(self) -> Any:
        """The address at which it listens; after listen() with port 0 the actual one."""
        return self._under.local


show_in("loomlet.net", TLSListener, TLSStream)
