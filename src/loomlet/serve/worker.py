"""A worker: the process that serves.

It tells its parent by a pipe, one byte each: READY when it accepts connections, ALIVE every second,
FULL when it wants to be replaced.  It ends when its parent has gone.  SIGTERM and SIGINT end it
gracefully: nothing new is accepted, what was begun is answered.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import loomlet
from loomlet import _core
from loomlet.http import Server
from loomlet.http._serving import find_http2
from loomlet.serve.application import ApplicationError, find_application, folder_of
from loomlet.serve.settings import Settings

if TYPE_CHECKING:
    import ssl

__all__ = ["ALIVE", "FULL", "READY", "find_early", "work"]

READY, ALIVE, FULL = b"R", b".", b"F"
BEAT = 1.0

log = logging.getLogger("loomlet.serve")


def find_early(settings: Settings) -> Any:
    """What --preload finds in the parent, for all workers: patched first, as in each of them."""
    _prepare(settings)
    return _load(settings)


def _prepare(settings: Settings) -> None:
    if settings.patch and folder_of(settings.target) is None:
        from loomlet import _run_cli

        _run_cli.prepare(threads=True, sync=settings.sync)


def _load(settings: Settings) -> Any:
    return None if folder_of(settings.target) is not None else find_application(settings)


def work(settings: Settings, sock: socket.socket, pipe: int, early: Any) -> int:
    """Serves until a signal ends it; returns the exit status.  `early`: the application, if it was
    found in the parent."""
    try:
        if early is None:
            _prepare(settings)
        loomlet.run(_serve, settings, sock, pipe, early, slice=settings.slice)
    except ApplicationError as error:
        log.error("%s", error)
        return 3
    except Exception:
        log.exception("the worker cannot serve")
        return 3
    return 0


def _serve(settings: Settings, sock: socket.socket, pipe: int, early: Any) -> None:
    stop = loomlet.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    application = early if early is not None else _load(settings)
    if "django.db" in sys.modules:
        _end_connections_of_django()
    server = make_server(settings, sock, application)
    server.start()
    if settings.patch and "anyio" in sys.modules:
        from loomlet import aio

        aio.await_(_lift_limit_of_anyio())
    os.write(pipe, READY)
    beating = loomlet.spawn(_beat, pipe, _watch(settings, server), stop)
    stop.wait()
    server.stop(settings.graceful)
    beating.kill()


async def _lift_limit_of_anyio() -> None:
    """Plain endpoints of Starlette and FastAPI run in threads of anyio, 40 at once by default.

    Here threads are tasklets, and what limits requests is --limit-concurrency.
    """
    import math

    from anyio import to_thread

    to_thread.current_default_thread_limiter().total_tokens = math.inf


def _end_connections_of_django() -> None:
    """They belong to threads, and each request is one: with CONN_MAX_AGE they would be left open.

    Closed here they cost what they cost by default; what keeps connections is Django's pool.
    """
    from django.core.signals import request_finished
    from django.db import connections

    def close(**_: Any) -> None:
        for connection in connections.all(initialized_only=True):
            connection.close()

    request_finished.connect(close, weak=False)


def make_server(settings: Settings, sock: socket.socket, application: Any) -> Server:
    """The server of one worker; without an application it serves a folder."""
    routes: dict[str, Any] = dict(settings.mounts)
    folder = folder_of(settings.target)
    if folder is not None:
        routes["/"] = folder
    made: list[Server] = []
    if settings.status_path is not None:
        from loomlet.serve.status import status_page

        routes[settings.status_path] = lambda request: status_page(request, made[0])
    options: dict[str, Any] = {
        **{"sock": sock, "routes": routes, "limits": settings.limits},
        **{"tls": tls_context(settings), "access_log": settings.access_log},
        **{"proxies": settings.proxies, "compress": settings.compress},
    }
    if application is None:
        made.append(Server(_not_found, **options))
    else:
        made.append(
            Server(
                application=application,
                interface=settings.interface,
                root_path=settings.root_path,
                **options,
            )
        )
    return made[0]


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """What the files say; read anew by each worker that begins."""
    if settings.certificate is None:
        return None
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2", "http/1.1"] if find_http2(None) else ["http/1.1"])
    context.load_cert_chain(settings.certificate, settings.key)
    if settings.authorities is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(settings.authorities)
    return context


def _not_found(request: Any) -> Any:
    from loomlet.http import Response

    return Response("Not Found\n", 404)


# ---- the pipe ---------------------------------------------------------------------------------


def _watch(settings: Settings, server: Server) -> Callable[[], bool]:
    """Whether the worker has done as much as it may."""
    from resource import RUSAGE_SELF, getrusage

    def is_full() -> bool:
        if settings.max_requests is not None:
            counts = server.counts()
            if counts["requests"] + counts["answered"] >= settings.max_requests:
                return True
        rss = getrusage(RUSAGE_SELF).ru_maxrss * 1024
        return settings.max_rss is not None and rss > settings.max_rss

    return is_full


def _beat(pipe: int, is_full: Callable[[], bool], stop: loomlet.Event) -> None:
    """Until the parent has gone: then nobody would replace the worker, so it ends."""
    told = False
    try:
        while True:
            _core.sleep(BEAT)
            message = ALIVE
            if not told and is_full():
                message, told = FULL, True
            os.write(pipe, message)
    except OSError:
        log.error("the parent process has gone")
        stop.set()
