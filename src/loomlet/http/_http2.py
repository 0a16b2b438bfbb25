"""HTTP/2 (RFC 9113), by h2: this is the one module that imports it.

serve_http2(server, stream, first_bytes) serves a connection from its preface on, over anything that
has receive_some(), send_all() and close(): a socket, or TLS that has agreed on "h2".  It needs the
package h2; without it the engine answers 505 to the preface.

One connection has a tasklet that reads (the caller), one that writes, and one for each stream, in
which the request is answered as one of HTTP/1 would be (_http2_requests.py).  Each of them asks h2,
which turns calls into bytes and bytes into events; what h2 has written is put into `_out`, which
the writer sends.

Invariants.
1. No tasklet is interrupted while it uses h2 or what goes with it: `with nopreempt()`, and nothing
   in there waits.  So h2 is never seen half changed, and a killed tasklet leaves it whole.
2. `_out` is short.  Bodies are put into it up to ROOM; beyond MOST_OUT nothing is read, so what has
   to be answered (PING, SETTINGS, RST_STREAM) cannot fill it either.  A client that does not read
   costs that, and what its handlers have made.
3. A client may send again only what was read by the handler: WINDOW for a stream, CONNECTION_WINDOW
   for all of them together.
4. A request counts until its handler is through with it, even if the client has reset it: beyond
   MOST_STREAMS of them new ones are refused.

Waiting.  Who cannot send waits for `_progress`, which is set and replaced by a new one when
something has gone out or a window has grown; a client that opens its window byte by byte gets its
bytes one by one, each for a frame of its own, and nobody turns in circles.

The end.  A client that breaks the rules gets GOAWAY with the reason; so does one that floods
(_http2_guard.py).  When the server stops it says GOAWAY, answers what has begun and closes.

Limits.  A connection without requests is closed after `keep_alive` seconds of the server; which
requests may be with the application says _http2_service.py.

Threads.  The server's own.

Rejected.  A lock instead of nopreempt(): a tasklet killed inside would leave h2 half changed.
Sending by the tasklets that answer: ASGI answers in the loop, which must not wait.  Server push: no
browser takes it any more.  h2c by Upgrade: RFC 9113 has dropped it.
"""

from __future__ import annotations

from contextlib import suppress
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    RemoteSettingsChanged,
    RequestReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import H2Error, StreamClosedError
from h2.settings import SettingCodes, Settings
from hyperframe.frame import GoAwayFrame

from loomlet import _core
from loomlet._scopes import CancelScope, move_on_after, timeout
from loomlet.http._errors import ClientGone, HTTPError
from loomlet.http._handlers import log
from loomlet.http._http2_guard import FRAME, HEADERS, Flood, Guard
from loomlet.http._http2_requests import Http2Request, head_of
from loomlet.http._takeovers import Takeover, drain

if TYPE_CHECKING:
    from loomlet.http._http2_service import Service

__all__ = ["Http2Connection", "serve_http2"]

ROOM = 131072
MOST_OUT = 262144
AT_ONCE = 65536
READ = 16384
WINDOW = 65536
CONNECTION_WINDOW = 2**20
MOST_STREAMS = 100
MOST_CLOSED = 1000
TABLE = 4096
"""Bytes of header fields that we remember for a client."""

LOOKS = 1.0
"""Seconds after which somebody looks whether a request takes long."""

SENDING = 60.0
LEAVING = 5.0
DRAINING = 1.0

Fields = list[tuple[bytes, bytes]]

LETTING_GO = (WindowUpdated, RemoteSettingsChanged, StreamReset)
"""What those may wait for that cannot send."""


class _Protocol(H2Connection):
    """h2, which would remember 65536 streams that have ended."""

    MAX_CLOSED_STREAMS = MOST_CLOSED


class _Mistake(Exception):
    """The client has broken the rules; h2 has written GOAWAY."""


class Http2Connection(Takeover):
    """One connection of a client."""

    def __init__(self, service: Service, stream: Any, client: Any) -> None:
        self.limits = service.limits
        self._service = service
        self.client = client
        self.scheme = service.scheme
        self.requests: dict[int, Http2Request] = {}
        self._stream = stream
        self._h2 = _Protocol(H2Configuration(client_side=False, header_encoding=None))
        self._guard = Guard()
        self._out = bytearray()
        self._filled = _core.Event()
        self._progress = _core.Event()
        self._waiting = CancelScope()  # around the wait of the reader
        self._leaving = False  # no new requests
        self._broken = False  # h2 takes nothing more
        self._ending = False  # the writer sends what there is, and ends
        self._active = _core.now()  # when the last request began or ended
        super().__init__(service.core)

    # ---- the tasklet that reads -----------------------------------------------------------------

    def run(self, data: bytes) -> None:
        """Serves it until it has ended."""
        writer = _core.spawn(self._write)
        try:
            with _core.nopreempt():
                self._begin()
            while True:
                self._take(data)
                data = self._receive()
        except Exception as error:
            self._say_why(error)
        finally:
            with CancelScope(shield=True):
                self._close(writer)

    def _begin(self) -> None:
        settings = {
            SettingCodes.INITIAL_WINDOW_SIZE: WINDOW,
            SettingCodes.MAX_CONCURRENT_STREAMS: MOST_STREAMS,
            SettingCodes.MAX_HEADER_LIST_SIZE: HEADERS,
        }
        self._h2.local_settings = Settings(client=False, initial_values=settings)
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(CONNECTION_WINDOW - 65535)
        self._pull()

    def _receive(self) -> bytes:
        """What comes next; ClientGone when nothing does, or nobody needs it any more."""
        self._wait_for_room()
        while True:
            left = self._active + self.limits.keep_alive - _core.now()
            if left <= 0 and not self.requests:
                raise ClientGone("the connection was idle")
            data: bytes | None = None
            with move_on_after(LOOKS if self.requests else left) as self._waiting:
                if self._leaving and not self.requests:  # who changes that cancels the scope
                    raise ClientGone("the connection has been used up")
                data = self._stream.receive_some(READ)
            if data == b"":
                raise ClientGone("the client has ended")
            if data is not None:
                return data
            self._service.look_at(list(self.requests.values()))

    def _take(self, data: bytes) -> None:
        with _core.nopreempt():
            try:
                self._guard.look(data)
                events = self._read_frames(data)
                lets_go = any(isinstance(event, LETTING_GO) for event in events)
                reset = {event.stream_id for event in events if isinstance(event, StreamReset)}
                for event in events:
                    self._take_event(event, reset)
            except BaseException:
                self._broken = lets_go = True
                raise
            finally:
                self._pull()
                if lets_go:
                    self._note_progress()

    def _read_frames(self, data: bytes) -> list[Any]:
        try:
            events: list[Any] = self._h2.receive_data(data)
        except H2Error as error:
            raise _Mistake(str(error)) from error
        return events

    def _take_event(self, event: Any, reset: set[int]) -> None:
        """`reset`: the streams that the client has reset meanwhile."""
        if isinstance(event, RequestReceived):
            if event.stream_id not in reset:
                self._begin_request(event)
        elif isinstance(event, DataReceived):
            self._take_data(event)
        elif isinstance(event, StreamEnded):
            request = self.requests.get(event.stream_id)
            if request is not None:
                request.body_ended = True
                request.news.set()
        elif isinstance(event, StreamReset):
            self._guard.note_reset()
            request = self.requests.get(event.stream_id)
            if request is not None and not request.left_by_client:
                request.note_gone()
        elif isinstance(event, RemoteSettingsChanged):
            encoder = self._h2.encoder
            encoder.header_table_size = min(encoder.header_table_size, TABLE)
        elif isinstance(event, ConnectionTerminated):
            self._leaving = True

    def _take_data(self, event: Any) -> None:
        request = self.requests.get(event.stream_id)
        if request is None or request.over:
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            return
        request.body += event.data
        request.unread += event.flow_controlled_length
        request.news.set()
        if not event.data:
            self._acknowledge(request)

    def _acknowledge(self, request: Http2Request) -> None:
        count, request.unread = request.unread, 0
        if count > 0:
            self._h2.acknowledge_received_data(count, request.stream_id)

    # ---- requests -------------------------------------------------------------------------------

    def _begin_request(self, event: Any) -> None:
        if self._leaving or len(self.requests) >= MOST_STREAMS:
            self._h2.reset_stream(event.stream_id, ErrorCodes.REFUSED_STREAM)
            return
        self._active = _core.now()
        try:
            pseudo, fields = head_of(event.headers)
        except HTTPError as error:
            self._refuse(event, error.status)
            return
        request = self._service.kind(self, event.stream_id, pseudo, fields)
        request.body_ended = event.stream_ended is not None
        self.requests[event.stream_id] = request
        tasklet = _core.spawn(self._service.answer, request)
        request._tasklet = None if self._service.batched else tasklet

    def _refuse(self, event: Any, status: int) -> None:
        """A request that is none."""
        head = [(b":status", str(status).encode()), (b"content-length", b"0")]
        self._h2.send_headers(event.stream_id, head, end_stream=True)
        with suppress(StreamClosedError):  # its body has ended as well
            self._h2.reset_stream(event.stream_id, ErrorCodes.NO_ERROR)

    # ---- what requests ask for ------------------------------------------------------------------

    def take_body(self, request: Http2Request) -> bytes:
        """What has come of its body; the client may send as much again."""
        with _core.nopreempt():
            data = bytes(request.body)
            if data:
                request.body.clear()
                self._acknowledge(request)
                self._pull()
            return data

    def send_head(self, request: Http2Request, status: int, fields: Fields, end: bool) -> None:
        """The head of its answer, and the end if there is no body."""
        names = {name for name, _ in fields}
        head = [(b":status", str(status).encode()), *fields]
        if b"date" not in names:
            head.append((b"date", formatdate(usegmt=True).encode()))
        if b"server" not in names:
            head.append((b"server", b"loomlet"))
        with _core.nopreempt():
            self._check(request)
            self._h2.send_headers(request.stream_id, head, end_stream=end)
            self._pull()

    def put(self, request: Http2Request, data: memoryview, end: bool = False) -> int:
        """Sends as much as may be sent now: how much.  `end`: the answer ends with it."""
        at = 0
        with _core.nopreempt():
            self._check(request)
            while at < len(data):
                window = self._h2.local_flow_control_window(request.stream_id)
                count = min(window, ROOM - len(self._out), FRAME, len(data) - at)
                if count <= 0:
                    break
                last = end and at + count == len(data)
                part = bytes(data[at : at + count])
                self._h2.send_data(request.stream_id, part, end_stream=last)
                self._pull()
                at += count
                request.written += count
        return at

    def send_all(self, request: Http2Request, data: memoryview) -> None:
        """Waits until all of it was put.  ClientGone when the client takes nothing for long."""
        at = 0
        while at < len(data):
            progress = self._progress
            sent = self.put(request, data[at : at + FRAME])
            at += sent
            if sent == 0:
                self._wait_for(request, progress)

    def _wait_for(self, request: Http2Request, progress: Any) -> None:
        """Until that request can send again."""
        end = _core.now() + SENDING
        while True:
            if not progress.wait(max(end - _core.now(), 0)):
                self._reset(request, ErrorCodes.CANCEL)
                request.note_gone()
                raise ClientGone("the client takes nothing of the answer")
            with _core.nopreempt():
                self._check(request)
                progress = self._progress
                window = self._h2.local_flow_control_window(request.stream_id)
                if window > 0 and len(self._out) < ROOM:
                    return

    def end_answer(self, request: Http2Request) -> None:
        """Its answer is whole."""
        with _core.nopreempt():
            if self._has_open(request):
                self._h2.end_stream(request.stream_id)
                self._pull()

    def ask_for_body(self, request: Http2Request) -> None:
        """100, if the client waits for that; told once."""
        with _core.nopreempt():
            if request.expects_continue and not request.told_to_go_on and self._has_open(request):
                request.told_to_go_on = True
                self._h2.send_headers(request.stream_id, [(b":status", b"100")])
                self._pull()

    def reset(self, request: Http2Request) -> None:
        """There will be no answer, or no more of it."""
        self._reset(request, ErrorCodes.INTERNAL_ERROR)

    def _reset(self, request: Http2Request, code: Any) -> None:
        with _core.nopreempt():
            if self._has_open(request):
                request.was_reset = True
                self._h2.reset_stream(request.stream_id, code)
                self._pull()

    def _has_open(self, request: Http2Request) -> bool:
        return not (request.left_by_client or request.was_reset or self.is_lost)

    @property
    def is_lost(self) -> bool:
        """Whether nothing can be answered any more."""
        return self._ending or self._broken

    def _check(self, request: Http2Request) -> None:
        if not self._has_open(request):
            raise ClientGone("the client has ended")

    def forget(self, request: Http2Request) -> None:
        """It is over.  What the client still sends of its body is not wanted, but a little is let
        come and dropped: curl takes a reset for a failure, also behind a whole answer."""
        with _core.nopreempt():
            self._active = _core.now()
            self.requests.pop(request.stream_id, None)
            request.body.clear()
            if not self.is_lost:
                self._acknowledge(request)
            if not request.body_ended and not request.sends_little(WINDOW):
                self._reset(request, ErrorCodes.NO_ERROR)
            self._pull()
        self._service.give_permit_back(request)
        self._service.note(request)
        if self._leaving and not self.requests:
            self._waiting.cancel()

    # ---- the tasklet that writes ----------------------------------------------------------------

    def _pull(self) -> None:
        """What h2 has written is to be sent."""
        data = self._h2.data_to_send()
        if data:
            self._out += data
            self._filled.set()

    def _note_progress(self) -> None:
        progress, self._progress = self._progress, _core.Event()
        progress.set()

    def _wait_for_room(self) -> None:
        """Until what was written is short enough for more."""
        while True:
            progress = self._progress
            if len(self._out) <= MOST_OUT:
                return
            if not progress.wait(SENDING):
                raise ClientGone("the client takes nothing of what it was sent")

    def _write(self) -> None:
        try:
            while (data := self._next_out()) is not None:
                with timeout(SENDING):
                    self._stream.send_all(data)
                with _core.nopreempt():
                    self._note_progress()
        except OSError:
            self._stream.close()  # the reader notices it
        finally:
            with _core.nopreempt():
                self._out.clear()
                self._note_progress()

    def _next_out(self) -> bytes | None:
        while True:
            with _core.nopreempt():
                if self._out:
                    data = bytes(self._out[:AT_ONCE])
                    del self._out[:AT_ONCE]
                    return data
                if self._ending:
                    return None
                self._filled.clear()
            self._filled.wait()

    # ---- the end --------------------------------------------------------------------------------

    def _say_why(self, error: Exception) -> None:
        """GOAWAY, unless h2 has said it, or nobody listens."""
        if isinstance(error, OSError):
            code = 0
        elif isinstance(error, Flood):
            code = error.code
            log.warning("HTTP/2: a client was sent away: %s", error.args[1])
        elif isinstance(error, _Mistake):
            log.info("HTTP/2: a mistake of the client: %s", error)
            return
        else:
            code = int(ErrorCodes.INTERNAL_ERROR)
            log.error("HTTP/2: %s: %s", type(error).__name__, error, exc_info=error)
        with _core.nopreempt():
            self._put_goaway(code)

    def _put_goaway(self, code: int) -> None:
        """By hand: for h2 the connection would have ended, and nothing more could be answered."""
        last = self._h2.highest_inbound_stream_id
        self._out += GoAwayFrame(0, last_stream_id=last, error_code=code).serialize()
        self._filled.set()

    def _close(self, writer: Any) -> None:
        with _core.nopreempt():
            self._ending = True
            self._filled.set()
            for request in list(self.requests.values()):
                if not request.left_by_client:
                    request.note_gone()
            self._note_progress()
        try:
            with timeout(LEAVING):
                writer.join()
            drain(self._stream, DRAINING)
        except OSError:
            pass
        finally:
            self._stream.close()
            self.release()

    def leave(self) -> None:
        """As Takeover says."""
        with _core.nopreempt():
            if not self._leaving and not self._broken:
                self._leaving = True
                self._put_goaway(0)
        if not self.requests:
            self._waiting.cancel()

    def drop(self) -> None:
        """As Takeover says."""
        self._stream.close()


def serve_http2(server: Any, stream: Any, first_bytes: bytes = b"", client: Any = None) -> None:
    """Serves a connection of HTTP/2 until it has ended; the stream is closed then.

    server: a loomlet.http.Server.  stream: anything with receive_some(), send_all() and close().
    first_bytes: what was received of it already, from the preface on.  client: its address, as
    request.client says it.
    """
    Http2Connection(server._http2_service(), stream, client).run(first_bytes)
