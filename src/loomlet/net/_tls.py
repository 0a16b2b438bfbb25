"""TLS over a stream: OpenSSL through the `ssl` module, which sees memory only and never waits.

Two buffers (ssl.MemoryBIO) lie between OpenSSL and the stream.  An operation is one step of
OpenSSL, which takes ciphertext out of one buffer and leaves ciphertext in the other; when it says
that it needs more, somebody waits for the stream, and the step is taken again.

Which way the ciphertext goes has little to do with who sends and who receives: a handshake, the
answer to a new key or a renegotiation make a reader write and a writer read.  So each direction of
the stream has one owner at a time, by a lock, whoever that is:

  _engine    around every step of OpenSSL and its buffers; nobody waits for the stream under it
  _filling   who waits for ciphertext.  Who had to wait for this lock takes its step again first,
             for what it needs may have come meanwhile (`_filled` counts)
  _flushing  who sends ciphertext, in the order in which OpenSSL made it
  _sending   a send_all, so that two are not mixed
  _receiving a receive_..., so that bytes of one receive_exactly go to nobody else
  _shaking   the handshake

Who reads never waits for the lock of who writes: a peer that takes nothing until it has been read
from would wait for ever.  The writer sends what the reader has to say, too; if there is none, the
reader does, before it waits.

Interruptions.  Any instruction may be the last one of a tasklet (kill, Ctrl-C), and every wait may
be ended by a time limit.  What is moved between the stream, the buffers and the list of what is
unsent is therefore moved by one call of C code (`map`, `extend`), inside which nothing can end it:
waiting is one thing and taking another.  So a reader may be ended at any time, and the next one
goes on.  A sender that is ended while ciphertext goes out has sent part of a record, nobody knows
which: that is `_torn`, and who sends then is told so.

Threads.  OpenSSL is not entered by two at a time, so a stream may be used from any thread; and
each send_all goes out in one piece, from whichever.

Rejected: SSLSocket without blocking (it owns its socket, and a wait for its descriptor misses what
OpenSSL has read already); a tasklet for each direction (three tasklets for a connection, and errors
that reach nobody); waiting in close() for the peer's goodbye, as nobody does.
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
from loomlet.net._streams import Listener, Stream

if TYPE_CHECKING:
    from loomlet._core import _Buffer

__all__ = ["TLSListener", "TLSStream"]

A = TypeVar("A")
D = TypeVar("D", bound=Descriptor)
T = TypeVar("T")

SOME = 65536
PIECE = 262144  # what is encrypted before it is sent


class _Over(Generic[D]):
    """What TLS over a stream and over a listener have in common."""

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
        """Closes it; who waits gets DescriptorClosed, iterations end.  Nothing when closed."""
        self._under.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} over {self._under!r}>"


class TLSStream(_Over[Stream]):
    """TLSStream(stream, context, *, server_side=False, server_hostname=None): TLS over a stream.

    It takes the stream over; net.connect() and net.listen() with `tls` make one.  `context` is an
    ssl.SSLContext, `server_hostname` whom a client expects.  ValueError when the context wants a
    name and there is none.

    The handshake takes place at the first use, or in handshake().  Receiving raises
    ssl.SSLEOFError when the connection ends and the peer has not said so: what came before may be
    cut off.  Any thread; one tasklet may send while another one receives.
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
                "expected a server_hostname for a context that checks it, found None; "
                "say whom to expect"
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
        self._ahead = bytearray()  # plaintext that send_eof() had to take
        self._shaken = self._ended = self._torn = False
        self._broken: ssl.SSLError | None = None

    # ---- what it tells ----

    @property
    def local(self) -> Any:
        """The address of this end, as the socket module has it."""
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
        """The protocol that both ends have agreed on by ALPN; None without."""
        return self.ssl_object.selected_alpn_protocol()

    def peer_certificate(self, binary_form: bool = False) -> Any:
        """The peer's certificate as ssl.SSLSocket.getpeercert() has it.

        ValueError before the handshake.
        """
        return self.ssl_object.getpeercert(binary_form)

    # ---- what it does ----

    def handshake(self) -> None:
        """Agrees with the peer on keys, which the first use does else; nothing the second time.

        Raises ssl.SSLError, and ssl.SSLCertVerificationError for a certificate that is not to be
        trusted; the stream is of no use then.  Another one that is interrupted goes on next time.
        """
        self._operate(self._shaking, TLSStream._shake, None)

    def receive_some(self, max_bytes: int = SOME, /) -> bytes:
        """Waits until something comes and returns it, at most that many bytes.

        b'' when the peer has ended its side; ssl.SSLEOFError when it has not said so.
        """
        if max_bytes < 1:
            raise ValueError(f"expected a number of bytes of at least 1, found {max_bytes}")
        return self._operate(self._receiving, TLSStream._read, max_bytes)

    def receive_exactly(self, count: int, /) -> bytes:
        """Waits until that many bytes have come and returns them.

        Raises EndOfStream, with what came as its `partial`, when the peer ends its side before.
        """
        if count < 0:
            raise ValueError(f"expected a number of bytes of at least 0, found {count}")
        return self._operate(self._receiving, TLSStream._read_exactly, count)

    def receive_into(self, buffer: _Buffer, /) -> int:
        """Waits until something comes, writes it into the buffer, and returns how many bytes.

        0 when the peer has ended its side.
        """
        view = memoryview(buffer).cast("B")
        if view.readonly:
            raise TypeError(f"expected a buffer to write into, found {buffer!r}")
        if not view:
            raise ValueError("expected a buffer with room, found an empty one")
        return self._operate(self._receiving, TLSStream._read_into, view)

    def __iter__(self) -> Iterator[bytes]:
        """What comes, until the peer ends its side or this end is closed."""
        with suppress(DescriptorClosed):
            while data := self.receive_some():
                yield data

    def send_all(self, data: _Buffer, /) -> None:
        """Sends all of it; waits while the peer does not take it.

        When it is interrupted nobody can tell how much was sent, and the stream may be of no use
        for sending: the next call says so.
        """
        self._operate(self._sending, TLSStream._write, memoryview(data).cast("B"))

    def send_eof(self) -> None:
        """Tells the peer that nothing more will come (close_notify); receiving goes on.

        Whether it does is the peer's choice: with TLS 1.2 many end their side as well.
        """
        self._operate(self._sending, TLSStream._end, None)

    def close(self) -> None:
        """Closes it; who waits for it gets DescriptorClosed, iterations end.  Never waits.

        The peer is told (close_notify) if the system takes that at once and no send_all is half
        done; else its end is not a clean one.  Nothing when it is closed.  Any thread.
        """
        if self._under.closed:
            return
        try:
            last = self._last_words()
            with suppress(DescriptorClosed):
                [mine] = map(Stream, map(Stream.detach, (self._under,)))
                with mine, suppress(OSError):
                    os.write(mine.fileno(), last)
                    os.read(mine.fileno(), SOME)  # what nobody has read would make it a reset
        finally:
            self._under.close()

    # ---- operations, each under its lock ----

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
            raise BrokenPipeError(errno.EPIPE, f"expected no send_eof() before, {self!r} had it")
        done = 0
        while done < len(view):
            done += self._step(self.ssl_object.write, view[done:])
            if self._outgoing.pending >= PIECE:
                self._flush()
        self._flush()

    def _end(self, _: None) -> None:
        if not self._ended:
            self._step(self._say_goodbye)
        self._flush()

    # ---- steps of OpenSSL ----

    def _step(self, take: Callable[..., T], *args: Any) -> T:
        """take(*args), a step of OpenSSL, again until nothing has to come before."""
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
            with suppress(OSError):  # who reads goes on whatever becomes of what it has to say
                self._flush(wait=False)
            if self._broken is None:
                self._fill(filled)

    def _decrypt(self, most: int) -> bytes:
        """Under _engine.  b'' at a clean end."""
        try:
            return self.ssl_object.read(most)
        except ssl.SSLZeroReturnError:
            return b""

    def _say_goodbye(self) -> None:
        """Under _engine.  What has come is taken first: OpenSSL would take it for an error."""
        with suppress(ssl.SSLWantReadError):
            while data := self._decrypt(SOME):
                self._ahead += data
        self._ended = True
        with suppress(ssl.SSLWantReadError):
            self.ssl_object.unwrap()

    # ---- between OpenSSL and the stream ----

    def _fill(self, filled: int) -> None:
        """Waits for ciphertext, unless some has come since `filled` was read."""
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
        """Sends what OpenSSL has made; or leaves that to who is at it, if it is not to wait."""
        while self._outgoing.pending or self._unsent:
            if not wait and self._flushing.locked():
                return
            with self._flushing:
                if self._torn:
                    raise ssl.SSLError(
                        f"expected a stream on which to send, found {self!r}, one of whose sends "
                        "was interrupted in the midst of a record; close it"
                    )
                self._collect()
                self._send_unsent()

    def _collect(self) -> None:
        with self._engine:
            self._unsent.extend(iter(self._outgoing.read, b""))

    def _send_unsent(self) -> None:
        """Under _flushing.  It is torn unless all of this is done."""
        while self._unsent:
            self._torn = True
            self._under.send_all(self._unsent[0])
            del self._unsent[0]
            self._torn = False

    def _last_words(self) -> bytes:
        """What close() sends."""
        locks = (self._flushing, self._engine)
        if not self._shaken or self._torn or self._broken or any(lock.locked() for lock in locks):
            return b""
        with self._flushing:
            with self._engine, suppress(ssl.SSLError):
                self.ssl_object.unwrap()
            self._collect()
            return b"".join(self._unsent)


class TLSListener(_Over[Listener]):
    """TLSListener(listener, context): connections to a listener, by TLS.

    It takes the listener over.  accept() does not wait for the handshake, which the tasklet that
    uses the connection does first: so nobody holds up the others.
    """

    __slots__ = ("context",)

    def __init__(self, listener: Listener, context: ssl.SSLContext) -> None:
        super().__init__(listener)
        self.context = context

    def accept(self) -> TLSStream:
        """Waits for a connection and returns its stream."""
        return TLSStream(self._under.accept(), self.context, server_side=True)

    def __iter__(self) -> Iterator[TLSStream]:
        """Connections, until it is closed."""
        with suppress(DescriptorClosed):
            while True:
                yield self.accept()

    @property
    def local(self) -> Any:
        """The address that it listens at; after listen() with port 0 the true one."""
        return self._under.local


show_in("loomlet.net", TLSListener, TLSStream)
