"""The two ends of a WebSocket inside of the server: its frames, and the messages that wait.

A tasklet reads each WebSocket, so pings are answered and its end is noticed also while the
handler only sends or does something else.  What it reads waits in a Mailbox until it is taken.

The mailbox is short.  When it is full the reader waits, so a handler that is slow slows the client
down; meanwhile nothing is answered either, and nobody asks whether the client is alive.

Alive.  When nothing has come for ping_interval a ping is sent, and when still nothing comes for
ping_timeout the client is taken for gone.  Anything that comes is a sign of life, not only the
pong.  A client that takes nothing of what it was sent is gone after SENDING seconds.

Sending.  Each message goes out in one piece (`_lock`).  A tasklet that is killed or whose time is
over in the midst of a message leaves half a frame behind, so the connection is closed then.

The end.  Whoever says first that it ends sends a close frame; the other one answers.  `code` and
`reason` are those that the client has sent, or 1006 when it has just gone, or why we have ended it.
Then what the client still sends is dropped, until it ends as well or for a while, since closing at
once would make the system throw away the close frame that it has not read.

Threads.  The server's own.  Its tasklets may be interrupted between any two lines: what several of
them change is changed under a lock, and the state of wsproto by one reader and one writer.

Rejected: reading in the tasklet of the handler (one that only sends would never see a ping or the
end); a timer for each WebSocket (the wait of the reader has its time anyway).
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable
from typing import Any

from loomlet import _core
from loomlet._conditions import Condition
from loomlet._scopes import CancelScope, timeout
from loomlet.http._errors import ClientGone
from loomlet.http._takeovers import Takeover, drain
from loomlet.http._websocket_frames import (
    BytesMessage,
    CloseConnection,
    ConnectionState,
    LocalProtocolError,
    Ping,
    TextMessage,
)

__all__ = ["Link", "Mailbox", "Message", "Times"]

Message = str | bytes

MOST_WAITING = 16
"""Messages of a mailbox."""

ROOM = 65536
"""Bytes of a mailbox: with so many it is full, however few messages they are."""

SLICE = 65536
SENDING = 60.0
CLOSING = 10.0
"""Seconds that a client has to answer our close frame, or to read why it was refused."""

LEAVING = 1.0
"""Seconds that a client has to end, when both have said goodbye."""

KILLED = 0.5
"""The same when the handler was killed."""

CODES = {1000, 1001, 1002, 1003, *range(1007, 1015), *range(3000, 5000)}
LOST = 1006
MISTAKES = {1007: "the data is not valid", 1009: "the message is too big"}


class Times:
    """How long a client may be silent until it is asked, and until it has to answer; or None."""

    __slots__ = ("interval", "timeout")

    def __init__(self, interval: float | None, timeout: float | None) -> None:
        self.interval = interval
        self.timeout = timeout


class Mailbox:
    """Messages that nobody has taken.  `told` is called when there is something new."""

    def __init__(self, told: Callable[[], None] | None = None) -> None:
        self.ended = False
        self._told = told
        self._waiting: deque[Message] = deque()
        self._size = 0
        self._changed = Condition()

    def put(self, message: Message) -> None:
        """Waits while it is full."""
        with self._changed:
            while (len(self._waiting) >= MOST_WAITING or self._size >= ROOM) and not self.ended:
                self._changed.wait()
            if self.ended:
                return
            self._waiting.append(message)
            self._size += len(message)
            self._changed.notify_all()
        if self._told is not None:
            self._told()

    def end(self) -> None:
        """Nothing more is put into it."""
        with self._changed:
            self.ended = True
            self._changed.notify_all()
        if self._told is not None:
            self._told()

    def take_now(self) -> Message | None:
        """The oldest one, if there is one."""
        with self._changed:
            return self._take() if self._waiting else None

    def take(self) -> Message | None:
        """The oldest one, waits for it; None at the end."""
        with self._changed:
            while not self._waiting and not self.ended:
                self._changed.wait()
            return self._take() if self._waiting else None

    def _take(self) -> Message:
        message = self._waiting.popleft()
        self._size -= len(message)
        self._changed.notify_all()
        return message


class Link(Takeover):
    """A WebSocket whose handshake is over: reads by itself, and sends what it is given."""

    def __init__(
        self, core: Any, stream: Any, behind: bytes, *, frames: Any, mailbox: Mailbox, times: Times
    ) -> None:
        self.code = 0  # 0: it is open
        self.reason = ""
        self.clean = False
        self._stream = stream
        self._frames = frames
        self._mailbox = mailbox
        self._times = times
        self._lock = _core.Lock()
        self.closing = False  # by us
        self._over = _core.Event()
        self._part: io.StringIO | bytearray | None = None
        self._behind = behind
        super().__init__(core)

    def begin(self, head: bytes) -> None:
        """Sends the answer to the handshake; from then on it reads."""
        behind, self._behind = self._behind, b""
        try:
            with timeout(SENDING):
                self._stream.send_all(head)
        except OSError as error:
            self._note_end(LOST, "", clean=False)
            self._close_stream()
            raise ClientGone(f"the client has gone: {error}") from None
        except BaseException:
            self._note_end(LOST, "", clean=False)
            self._close_stream()
            raise
        _core.spawn(self._read, behind)

    # ---- reading ------------------------------------------------------------------------------

    def _read(self, data: bytes) -> None:
        """The tasklet that reads."""
        try:
            while not self.code:
                if data:
                    self._take_bytes(data)
                if not self.code:
                    data = self._receive()
        except OSError:
            pass  # the client has gone, or we have closed it
        finally:
            self._note_end(LOST, "", clean=False)
            self._close_stream()

    def _receive(self) -> bytes:
        """What comes next.  ClientGone when nothing does."""
        data: bytes = b""
        try:
            with timeout(self._times.interval):
                data = self._stream.receive_some()
        except TimeoutError:
            self._ask()
            with timeout(self._times.timeout):
                data = self._stream.receive_some()
        if not data:
            raise ClientGone("the client has gone")
        return data

    def _ask(self) -> None:
        """Sends a ping, unless somebody is sending just now."""
        if self._lock.acquire(blocking=False):
            try:
                self._send_locked(Ping())
            except LocalProtocolError:
                pass
            finally:
                self._lock.release()

    def _take_bytes(self, data: bytes) -> None:
        self._frames.receive_data(data)
        for event in self._frames.events():
            if isinstance(event, TextMessage | BytesMessage):
                self._take_message(event)
            elif isinstance(event, Ping):
                self._answer(event.response())
            elif isinstance(event, CloseConnection):
                self._take_close(event)
                return

    def _take_message(self, event: Any) -> None:
        """A part of a message, or all of it."""
        if self._part is None and event.message_finished:
            self._deliver(event.data)
            return
        if self._part is None:
            self._part = io.StringIO() if isinstance(event.data, str) else bytearray()
        if isinstance(self._part, bytearray):
            self._part += event.data
        else:
            self._part.write(event.data)
        if event.message_finished:
            whole, self._part = self._part, None
            self._deliver(bytes(whole) if isinstance(whole, bytearray) else whole.getvalue())

    def _deliver(self, message: Message | bytearray) -> None:
        if not self.closing:
            self._mailbox.put(bytes(message) if isinstance(message, bytearray) else message)

    def _answer(self, event: Any) -> None:
        try:
            with self._lock:
                self._send_locked(event)
        except LocalProtocolError:
            pass  # we are closing

    def _take_close(self, event: Any) -> None:
        """The client closes, has answered our close, or has made a mistake."""
        state = self._frames.state
        code, reason = int(event.code), event.reason or ""
        if state is ConnectionState.CLOSED:
            self._note_end(code, reason, clean=True)
            drain(self._stream, LEAVING)
        elif state is ConnectionState.REMOTE_CLOSING:
            self._note_end(code, reason, clean=True)
            self._answer(event.response())
            drain(self._stream, LEAVING)
        else:
            reason = MISTAKES.get(code, reason)
            self._note_end(code, reason, clean=False)
            self._answer(CloseConnection(code=code, reason=reason))
            drain(self._stream, CLOSING)

    # ---- sending ------------------------------------------------------------------------------

    def send(self, message: Message | bytearray | memoryview) -> None:
        """Waits while the client does not take it.  ClientGone when it is closed."""
        if isinstance(message, str):
            self._send(TextMessage(data=message))
        elif isinstance(message, bytes | bytearray | memoryview):
            self._send(BytesMessage(data=bytes(message)))
        else:
            raise TypeError(f"expected str or bytes, found {message!r}")

    def ping(self, payload: bytes = b"") -> None:
        """Asks the client to answer; nobody waits for that."""
        if len(payload) > 125:
            raise ValueError(f"expected at most 125 bytes in a ping, found {len(payload)}")
        self._send(Ping(payload=payload))

    def _send(self, event: Any) -> None:
        try:
            with self._lock:
                self._send_locked(event)
        except LocalProtocolError:
            raise ClientGone("the WebSocket is closed") from None

    def _send_locked(self, event: Any) -> None:
        """LocalProtocolError when such a frame may not be sent any more."""
        try:
            data = memoryview(self._frames.send(event))
            for at in range(0, len(data), SLICE):
                with timeout(SENDING):
                    self._stream.send_all(data[at : at + SLICE])
        except OSError as error:
            self._stream.close()
            raise ClientGone(f"the client has gone: {error}") from None
        except LocalProtocolError:
            raise
        except BaseException:  # the compressor may have seen what the client will not
            self._stream.close()
            raise

    # ---- the end ------------------------------------------------------------------------------

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Says goodbye and waits for the answer, CLOSING seconds at most; then it is closed."""
        if code not in CODES:
            raise ValueError(f"expected 1000 to 1014 or 3000 to 4999 as the code, found {code!r}")
        self._close(code, reason, CLOSING)

    def _close(self, code: int, reason: str, seconds: float) -> None:
        try:
            if not self.closing and not self.code:
                self.closing = True
                self._mailbox.end()
                with timeout(seconds):
                    self._send(CloseConnection(code=code, reason=reason))
            self._over.wait(seconds)
        except OSError:
            pass
        finally:
            self._stream.close()

    def end(self, error: BaseException | None) -> None:
        """As Takeover says.  A tasklet that is killed or cancelled does not wait for long."""
        if error is None or isinstance(error, Exception):
            self._close(1000 if error is None else 1011, "", CLOSING)
            return
        with CancelScope(shield=True):
            self._close(1011, "", KILLED)

    def leave(self) -> None:
        """As Takeover says."""
        _core.spawn(self.close, 1001, "the server stops")

    def drop(self) -> None:
        """As Takeover says."""
        self._note_end(LOST, "", clean=False)
        self._stream.close()

    def _note_end(self, code: int, reason: str, clean: bool) -> None:
        if not self.code:
            self.code, self.reason, self.clean = code, reason, clean
        self._mailbox.end()

    def _close_stream(self) -> None:
        self._stream.close()
        self.release()
        self._over.set()
