"""Requests of HTTP/2: who answers one, and when.

A route answers, or else the application.  Of the requests that are with the application there are
`concurrency` of the server at most, counted apart from those of HTTP/1; `queue` of them wait, each
for `queue_seconds`, and the others are refused with 503.  Routes never wait.

A request keeps its permit until it is over, also when its client has reset it: what it costs is its
handler, which goes on.

Requests that take long are reported and ended as by the engine (_handlers.py); each connection
looks at its own about once a second.

Threads.  Tasklets of the server's thread.

Rejected: one count for both versions of HTTP (the engine would have to wake what waits here).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from loomlet import _core
from loomlet.http._answers import TEXT, answer_whole
from loomlet.http._handlers import end_late, fail, report_slow
from loomlet.http._http2_requests import Http2Request, Http2WsgiRequest

if TYPE_CHECKING:
    from loomlet.http._access_log import Note
    from loomlet.http._http2_routes import Routes

__all__ = ["Service"]


class Service:
    """What the connections of a server have in common: how a request is answered, and when not."""

    def __init__(
        self,
        core: Any,
        limits: Any,
        routes: Routes,
        answer: Any,
        *,
        is_wsgi: bool,
        batched: bool,
        scheme: str,
        forwarded: Callable[[type[Any]], type[Any]],
        note: Callable[[Note], object] | None,
    ) -> None:
        self.core = core
        self.limits = limits
        self.batched = batched
        self.scheme = scheme
        self.kind = forwarded(Http2WsgiRequest if is_wsgi else Http2Request)
        self._routes = routes
        self._answer = answer
        self._note = note
        self._permits = _core.Semaphore(limits.concurrency) if limits.concurrency > 0 else None
        self._queued = 0

    def answer(self, request: Http2Request) -> None:
        """In the tasklet of the request."""
        try:
            if request.too_large:
                answer_whole(request, 413, TEXT, b"Content Too Large\n")
            elif (route := self._routes.find(self.core, request)) is not None:
                route(request)
            elif not self._take_permit(request):
                answer_whole(request, 503, [*TEXT, ("Retry-After", "1")], b"Service Unavailable\n")
            else:
                self._answer([request] if self.batched else request)
        except Exception as error:
            try:
                fail(request, error)
            finally:
                request._abort()
        except BaseException:
            request._abort()
            raise

    def _take_permit(self, request: Http2Request) -> bool:
        """Waits until it may be with the application: whether it may."""
        if self._permits is None:
            return True
        with _core.nopreempt():  # a tasklet that is killed here would keep the permit
            if not self._permits.acquire(blocking=False):
                if self._queued >= self.limits.queue:
                    return False
                self._queued += 1
                try:
                    if not self._permits.acquire(timeout=self.limits.queue_seconds):
                        return False
                finally:
                    self._queued -= 1
            request.has_permit = True
        return True

    def give_permit_back(self, request: Http2Request) -> None:
        """It is over."""
        with _core.nopreempt():
            if self._permits is not None and request.has_permit:
                request.has_permit = False
                self._permits.release()

    def note(self, request: Http2Request) -> None:
        """It is over: for the access log, if there is one."""
        if self._note is None:
            return
        peer, fields = request._connection.client, request.headers
        said = [value for name, value in fields if name == "x-forwarded-for"]
        self._note(
            (
                *(peer[0] if peer else "", request.method, request.target, request.version),
                *(request.status, request.written, _core.now() - request.began),
                *(request.header("referer"), request.header("user-agent")),
                ",".join(said) or None,
            )
        )

    def look_at(self, requests: list[Http2Request]) -> None:
        """Those that take long are reported, or ended, as in the engine."""
        limits, now = self.limits, _core.now()
        for request in requests:
            if limits.request and now - request.began >= limits.request and request.told < 2:
                request.told = 2
                _core.spawn(end_late(limits.request), request)
            elif limits.slow and now - request.began >= limits.slow and request.told < 1:
                request.told = 1
                report_slow(limits.slow)(request)
