"""Servers: sockets, limits, routes, and how they end."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from loomlet import _core
from loomlet.http._answers import plan
from loomlet.http._arguments import check_limits, check_routes, check_tls, check_what_answers
from loomlet.http._handlers import Handler, answering, end_late, interface_of, report_slow
from loomlet.http._requests import EngineRequest, Request
from loomlet.http._takeovers import take_stream
from loomlet.http._wsgi import Application, WsgiRequest, common_environ, wsgi, wsgi_upgrade

if TYPE_CHECKING:
    import ssl

    from loomlet.http._asgi import AsgiApplication
    from loomlet.http._compressing import Compressor
    from loomlet.http._forwarded import Proxies
    from loomlet.http._http2_service import Service

__all__ = ["Limits", "Server", "serve", "serve_application"]

Route = bytes | str | Path | Callable[[Request], Any]

NO_H2 = "HTTP/2 needs h2: pip install 'loomlet[http2]'"

FOREVER = 0
"""What the engine takes for no limit, in seconds."""


class Limits(NamedTuple):
    """What a server allows; times in seconds, None: no limit.

    concurrency: requests that are with the handler at once; as many more wait, `queue` at most and
    each for `queue_seconds`, then they are refused with 503.  connections: how many may be open.
    request_body: bytes of a body, 413 beyond.  keep_alive: how long a connection may be idle.
    head: how long the head of a request may take, from its first byte.  sending: how long a client
    may read nothing of an answer.  request: how long a request may take; then it is killed and
    answered with 504.  slow: it is logged with its stack when it has run for so long.
    """

    concurrency: int = 1000
    queue: int = 1000
    queue_seconds: int = 10
    connections: int = 50_000
    request_body: int = 100 * 2**20
    keep_alive: int = 75
    head: int = 15
    sending: int = 60
    request: int | None = None
    slow: int | None = 5

    @property
    def _seconds(self) -> tuple[int, int, int, int, int, int]:
        """For each state of a connection, in the order of the engine."""
        return (
            *(self.keep_alive, self.head, self.queue_seconds),
            *(self.request or FOREVER, self.sending, DRAINING),
        )


DRAINING = 5
"""Seconds in which a client that was refused may read why."""


class Server:
    """An HTTP server on one scheduler; `address` is where it listens.  With `tls`, the context of
    a TLS server, it speaks HTTPS.

    handler: called with each request, in a tasklet of its own; what it returns is the answer.
    application: a WSGI or ASGI application, instead of a handler; which of the two it is is seen,
    or said by `interface`, "wsgi" or "asgi".  routes: paths that are answered without
    it: bytes or text as they are, a pathlib.Path as the files below it (the path of the route then
    ends with a slash), a function as another handler, which never queues.  access_log: the format
    of a line for each request, with the names of gunicorn.  http2: whether clients may speak
    HTTP/2; by default if the package h2 is installed.  proxies: peers whose X-Forwarded-For and
    X-Forwarded-Proto count, as addresses, networks, paths of local sockets or "*".
    compress: files of routes and listings are compressed for clients that take it.
    """

    def __init__(
        self,
        handler: Handler | None = None,
        *,
        application: Application | AsgiApplication | None = None,
        interface: str | None = None,
        host: str = "127.0.0.1",
        port: int = 8000,
        sock: socket.socket | None = None,
        routes: Mapping[str, Route] | None = None,
        limits: Limits | None = None,
        root_path: str = "",
        tls: ssl.SSLContext | None = None,
        access_log: str | None = None,
        backlog: int = 2048,
        http2: bool | None = None,
        proxies: str | Iterable[str] = (),
        compress: bool = False,
    ) -> None:
        check_what_answers(handler, application, interface)
        check_tls(tls)
        check_routes(routes or {})
        self.limits = Limits() if limits is None else limits
        check_limits(self.limits, Limits)
        speaks_http2 = find_http2(http2)
        self._proxies = find_proxies(proxies)
        self._socket = prepare(sock or socket.create_server((host, port), backlog=backlog))
        self.address: Any = self._socket.getsockname()
        self._lifespan: Any = None
        self._root_path = root_path
        self._tls = tls
        self._routes: list[tuple[Any, ...]] = []  # as Routes of HTTP/2 have them
        if self._proxies is not None and isinstance(self.address, str):
            self._proxies.local = self.address
        self._http2: Service | None = None
        self._logs = access_log is not None
        try:
            self._core = self._make_core(handler, application, interface)
            if access_log is not None:
                self._write_log(access_log)
            self._compressor = self._make_compressor() if compress else None
            self._add_routes(routes or {})
        except BaseException:
            if sock is None:
                self._socket.close()
            raise
        if speaks_http2:
            self._core._set_http2(self._begin_http2)

    def _make_core(self, handler: Any, application: Any, interface: str | None) -> Any:
        batched = False
        kind: type[EngineRequest] = EngineRequest
        if handler is not None:
            answer = answering(handler)
        elif (interface or interface_of(application)) == "wsgi":
            answer, kind = wsgi(application, self._environ()), WsgiRequest
        else:
            batched = True
            answer = self._asgi(application)
        self._answer, self._is_wsgi, self._batched = answer, kind is WsgiRequest, batched
        core = _core.HttpServer(
            *(
                answer,
                self._as_forwarded(kind),
                self._slow(),
                self._late(),
                self.limits.request_body,
                batched,
            ),
            self._tls,
        )
        if self._is_wsgi:
            core._set_upgrades(wsgi_upgrade(application, self._environ()))
        return core

    def _as_forwarded(self, kind: type[Any]) -> type[Any]:
        """That type of requests, whose client may be another one than the peer."""
        if self._proxies is None:
            return kind
        from loomlet.http._forwarded import behind_proxies

        return behind_proxies(kind, self._proxies)

    def _write_log(self, pattern: str) -> None:
        from loomlet.http._access_log import access_log

        self._core._log_to(access_log(self._core, pattern, self._proxies))

    def _environ(self) -> dict[str, Any]:
        more = {"SCRIPT_NAME": self._root_path, "wsgi.url_scheme": self._scheme}
        return common_environ(self.address, **more)

    @property
    def _scheme(self) -> str:
        return "http" if self._tls is None else "https"

    def _asgi(self, application: AsgiApplication) -> Any:
        from loomlet.http._asgi import Lifespan, asgi, common_scope

        self._lifespan = Lifespan(application)
        common = common_scope(self.address, self._lifespan.state)
        common.update(root_path=self._root_path, scheme=self._scheme)
        return asgi(application, lambda: self._core, common)

    def _slow(self) -> Any:
        seconds = self.limits.slow
        return None if seconds is None else report_slow(seconds)

    def _late(self) -> Any:
        seconds = self.limits.request
        return None if seconds is None else end_late(seconds)

    def _add_routes(self, routes: Mapping[str, Route]) -> None:
        if any(isinstance(answer, Path) for answer in routes.values()):
            self._add_types()
        for path, answer in routes.items():
            if isinstance(answer, Path):
                self._add_folder(path, answer)
            elif callable(answer):
                handler = answering(answer)
                self._core._add_handler(path.encode(), handler)
                self._routes.append(("add_handler", path, handler))
            else:
                _, fields, body = plan(answer)
                kind = dict(fields).get("Content-Type", "")
                self._core._add_fixed(path.encode(), 200, kind.encode(), body)
                self._routes.append(("add_fixed", path, kind, body))

    def _make_compressor(self) -> Compressor:
        from loomlet.http._compressing import Compressor

        self._core._compress()
        return Compressor(self._core)

    def _add_types(self) -> None:
        from mimetypes import types_map

        for suffix, kind in types_map.items():
            self._core._add_type(suffix.encode(), kind.encode())

    def _add_folder(self, path: str, folder: Path) -> None:
        from loomlet.http._files import listing

        maker = listing(self._core, self._compressor)
        self._core._add_folder(path.encode(), bytes(folder), maker)
        self._routes.append(("add_folder", path, maker, self._compressor))

    def _http2_service(self) -> Service:
        """What answers requests of HTTP/2, made for the first one."""
        if self._http2 is None:
            from loomlet.http._http2_routes import Routes
            from loomlet.http._http2_service import Service

            made = Service(
                *(self._core, self.limits, Routes(self._routes), self._answer),
                is_wsgi=self._is_wsgi,
                batched=self._batched,
                scheme=self._scheme,
                forwarded=self._as_forwarded,
                note=self._core._add_note if self._logs else None,
            )
            with _core.nopreempt():  # another connection may have made one meanwhile
                self._http2 = self._http2 or made
        return self._http2

    def _begin_http2(self, request: Request) -> None:
        """A connection has begun with the preface; its tasklet."""
        from loomlet.http._http2 import serve_http2

        client = request.client
        stream, first = take_stream(request)
        serve_http2(self, stream, first, client)

    def start(self) -> None:
        """From now on connections are accepted, while the calling thread's tasklets wait.

        RuntimeError if an ASGI application refuses to begin, or the server was started before.
        """
        if self._socket.fileno() < 0:
            raise RuntimeError("a server is started once, and was started or closed before")
        if self._lifespan is not None:
            from loomlet import aio

            aio.await_(self._lifespan.startup())
        limits = self.limits
        with _core.nopreempt():  # the descriptor has one owner at every moment
            self._core._start(
                self._socket.fileno(),
                limits._seconds,
                limits.slow or FOREVER,
                *(limits.connections, limits.concurrency, limits.queue),
            )
            self._socket.detach()

    def stop(self, grace: float = 30.0) -> None:
        """Accepts nothing more, waits until all requests are answered, at most `grace` seconds, and
        closes it."""
        self._core._stop(1)
        end = _core.now() + grace
        told: set[Any] = set()
        while self._core._counts()["connections"] > 0 and _core.now() < end:
            for taken in set(self._core._held()) - told:
                told.add(taken)
                taken.leave()
            _core.sleep(0.01)
        self.close()
        if self._lifespan is not None:
            from loomlet import aio

            aio.await_(self._lifespan.shutdown())

    def close(self) -> None:
        """Ends it and all its connections."""
        self._socket.close()
        for taken in self._core._held():
            taken.drop()
        self._core._close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def counts(self) -> dict[str, int]:
        """Connections by what they do, and requests: by the handler, by routes, refused."""
        counts: dict[str, int] = self._core._counts()
        return counts


def prepare(sock: socket.socket) -> socket.socket:
    """A socket that listens, as the engine wants it."""
    sock.setblocking(False)
    if sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def find_proxies(trusted: str | Iterable[str]) -> Proxies | None:
    """Those; None for none.  ValueError for a name that is none."""
    if not trusted:
        return None
    from loomlet.http._forwarded import Proxies

    return Proxies(trusted)


def find_http2(wanted: bool | None) -> bool:
    """Whether HTTP/2 is spoken; None: if h2 is there.  ImportError if it is wanted and is not."""
    found = wanted is not False and find_spec("h2") is not None
    if wanted and not found:
        raise ImportError(NO_H2)
    return found


def serve(handler: Handler, **options: Any) -> None:
    """Serves until the calling tasklet is cancelled or killed; options as for Server."""
    _serve(Server(handler, **options))


def serve_application(application: Application | AsgiApplication, **options: Any) -> None:
    """The same with a WSGI or ASGI application."""
    _serve(Server(application=application, **options))


def _serve(server: Server) -> None:
    server.start()
    try:
        _core.Channel[None]().receive()
    finally:
        server.close()
