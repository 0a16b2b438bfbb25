"""The two ends of a WebSocket inside of the server: its frames, and the messages that wait.

A tasklet reads each WebSocket, so pings are answered and its end is noticed also while the
handler only sends or does something else.  What it reads waits in a Mailbox until it is taken.

The mailbox is short.  When it is full the reader waits, so a handler that is slow slows the client
down; meanwhile nothing is answered either, and nobody asks whether the client is alive.  Events
tell that something is new or that there is room, not a lock: each side looks again after it has
cleared its event, so nothing is missed.

Alive.  When nothing has come for ping_interval a ping is sent, and when still nothing comes for
ping_timeout the client is taken for gone.  Anything that comes is a sign of life, not only the
pong.  A client that takes nothing of what it was sent is gone after SENDING seconds.

Reading.  The core reads the usual messages (`_split`, see src/core/http/frame.h), and hands all
other frames to wsproto, whose part that is; both together see what the client has sent, in order.

Sending.  Each message goes out in one piece (`_lock`).  Without compression the core makes its
frame; a time limit is set only where the system does not take all of it at once.  The rest of a
frame that try_send() has begun is `owed`: whoever sends next sends that rest first.  A tasklet that
is killed or whose time is over in the midst of a message leaves half a frame behind, so the
connection is closed then.

The end.  Whoever says first that it ends sends a close frame; the other one answers.  `code` and
`reason` are those that the client has sent, or 1006 when it has just gone, or why we have ended it.
Then what the client still sends is dropped, until it ends as well or for a while, since closing at
once would make the system throw away the close frame that it has not read.

Threads.  The server's own.  Its tasklets may be interrupted between any two lines: what several of
them change is changed under a lock, and the state of wsproto by one reader and one writer.

Rejected: reading in the tasklet of the handler (one that only sends would never see a ping or the
end); a timer for each WebSocket (the wait of the reader has its time anyway); a channel as mailbox
(its bound is a number of messages, whatever their size).
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn

from loomlet import _core
from loomlet._scopes import CancelScope, timeout
from loomlet.http._errors import ClientGone
from loomlet.http._takeovers import Takeover, drain
from loomlet.http._websocket_frames import (
    BytesMessage,
    CloseConnection,
    ConnectionState,
    LocalProtocolError,
    Payload,
    Ping,
    TextMessage,
    new_frames,
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
    """Messages that nobody has taken.  `told` is called when there is something new.

    `messages`: who does not wait may take them out of there, and calls taken() if it `is_full`.
    """

    __slots__ = ("_news", "_room", "_told", "ended", "is_full", "messages")

    def __init__(self, told: Callable[[], None] | None = None) -> None:
        self.ended = False
        self.messages: deque[Message] = deque()
        self._news = _core.Event()
        self._room = _core.Event()
        self.is_full = False  # the reader waits
        self._told = told or self._news.set

    def put(self, message: Message) -> None:
        """Waits while it is full.  One tasklet at a time."""
        if self.messages:
            self._wait_for_room()
        if not self.ended:
            self.messages.append(message)
            self._told()

    def _wait_for_room(self) -> None:
        try:
            while self._lacks_room() and not self.ended:
                self._room.clear()
                self.is_full = True
                if self._lacks_room() and not self.ended:
                    self._room.wait()
        finally:
            self.is_full = False

    def _lacks_room(self) -> bool:
        waiting = list(self.messages)
        return len(waiting) >= MOST_WAITING or sum(map(len, waiting)) >= ROOM

    def end(self) -> None:
        """Nothing more is put into it."""
        self.ended = True
        self._told()
        self.taken()

    def taken(self) -> None:
        """There may be room again."""
        self._room.set()

    def take(self) -> Message | None:
        """The oldest one, waits for it; None at the end."""
        while True:
            ended = self.ended
            if self.messages:
                try:
                    message = self.messages.popleft()
                except IndexError:
                    continue  # another tasklet was first
                if self.is_full:
                    self.taken()
                return message
            if ended:
                return None
            self._news.clear()
            if not self.messages and not self.ended:
                self._news.wait()


def _event_of(message: object) -> Any:
    if isinstance(message, str):
        return TextMessage(message)
    if isinstance(message, bytes | bytearray | memoryview):
        return BytesMessage(bytes(message))
    raise TypeError(f"expected str or bytes, found {message!r}")


class Link(Takeover):
    """A WebSocket whose handshake is over: reads by itself, and sends what it is given."""

    def __init__(
        self,
        core: Any,
        stream: Any,
        behind: bytes,
        *,
        payload: Payload,
        mailbox: Mailbox,
        times: Times,
    ) -> None:
        self.code = 0  # 0: it is open
        self.reason = ""
        self.clean = False
        self._stream = stream
        self._frames = new_frames(payload)
        self._split = _core.WebSocketFrames(payload.max_size)
        self._write = self._split.write
        self._is_plain = payload.answer is None
        self._is_open = True  # messages may be sent
        self.owed = b""  # of a frame that has gone in part
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
        feed, put, receive = self._split.feed, self._mailbox.put, self._stream._receive_within
        interval = self._times.interval
        try:
            while not self.code:
                for part in feed(data):
                    if isinstance(part, bytearray):
                        self._take_bytes(part)
                    elif not self.closing:
                        put(part)
                if not self.code:
                    received = receive(interval)
                    data = received or self._find_out(received)
        except OSError:
            pass  # the client has gone, or we have closed it
        finally:
            self._note_end(LOST, "", clean=False)
            self._close_stream()

    def _find_out(self, received: bytes | None) -> bytes:
        """Nothing has come: asks the client, and returns what comes then.  ClientGone if it is."""
        if received is None:
            self._ask()
            received = self._stream._receive_within(self._times.timeout)
        if not received:
            raise ClientGone("the client has gone")
        return received

    def _ask(self) -> None:
        """Sends a ping, unless a message is being sent just now."""
        if self._lock.acquire(blocking=False):
            try:
                self._send_locked(Ping())
            except LocalProtocolError:
                pass
            finally:
                self._lock.release()

    def _take_bytes(self, data: bytearray) -> None:
        """Frames that are no whole messages; those behind the end are dropped."""
        if self.code:
            return
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
        self._is_open = self._frames.state is ConnectionState.OPEN
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
        if not self._is_plain:
            self._send(_event_of(message))
            return
        data = self._write(message)
        with self._lock:
            if not self._is_open:
                raise ClientGone("the WebSocket is closed")
            self._send_bytes(data)

    def try_send(self, message: Message | bytearray | memoryview) -> bool:
        """Sends without waiting.  False when nothing of it has gone.  If it was a part of the
        message, or the client takes nothing now, the rest is `owed`, and finish() sends it."""
        if not self._is_plain or not self._lock.acquire(False):
            return False
        try:
            if self.owed:
                return False
            if not self._is_open:
                raise ClientGone("the WebSocket is closed")
            data = self._write(message)
            try:
                sent = self._stream._try_send(data)
                self.owed = data[sent:]
            except BaseException as error:
                self._give_up(error)
        finally:
            self._lock.release()
        return True

    def finish(self) -> None:
        """Sends what is owed."""
        with self._lock:
            self._send_bytes(b"")

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
            data = self._frames.send(event)
            self._is_open = self._frames.state is ConnectionState.OPEN
            self._send_bytes(data)
        except LocalProtocolError:
            raise
        except BaseException:  # the compressor may have seen what the client will not
            self._stream.close()
            raise

    def _send_bytes(self, data: bytes) -> None:
        """What is owed, and these.  Only what the system does not take at once has a time limit."""
        try:
            sent = 0 if self.owed else self._stream._try_send(data)
            if self.owed or sent < len(data):
                self._send_rest(memoryview(self.owed + data[sent:]))
                self.owed = b""
        except BaseException as error:
            self._give_up(error)

    def _send_rest(self, data: memoryview) -> None:
        for at in range(0, len(data), SLICE):
            with timeout(SENDING):
                self._stream.send_all(data[at : at + SLICE])

    def _give_up(self, error: BaseException) -> NoReturn:
        """A frame may have gone in part."""
        self._stream.close()
        if isinstance(error, OSError):
            raise ClientGone(f"the client has gone: {error}") from None
        raise error

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
