"""A worker for gunicorn: `gunicorn -k loomlet.http.gunicorn.Worker shop:app`.

gunicorn keeps what it does: its configuration, sockets, processes and signals.  The worker serves
as `loomlet serve` does: the process is prepared before the application is imported, all of it runs
inside of loomlet.run(), and each request has a tasklet.

From gunicorn's settings come the sockets, TLS, the logs and their format, `timeout`,
`graceful_timeout`, `keepalive`, `max_requests`, `forwarded_allow_ips`, and as the number of
requests at once `worker_connections`.  `threads`, the limits of heads and the hooks `pre_request`
and `post_request` mean nothing here.

The end.  SIGTERM answers what was begun, for `graceful_timeout` seconds at most; SIGQUIT and SIGINT
end at once, and so does SIGABRT, by which the arbiter ends a worker that has not told it in time
that it lives.  A worker whose arbiter has gone ends as on SIGTERM.

Threads.  The main thread; its tasklets.

Rejected: exceptions from handlers of signals, as gunicorn's own workers raise SystemExit (it would
end the tasklet that is running just then, which may be any request).
"""

from __future__ import annotations

import logging
import os
from typing import Any

from gunicorn import sock as gunicorn_sock
from gunicorn.workers import base

import loomlet
from loomlet import _run_cli
from loomlet.http._serving import Limits, Server

__all__ = ["Worker"]

SLICE = 0.005
MOST_BEAT = 1.0
"""Seconds between two looks at what may end the worker, at most."""
ABORTED = 1


class Worker(base.Worker):  # type: ignore[misc]
    """What gunicorn makes for each process."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._told = loomlet.Event()
        self._at_once = loomlet.Event()

    def init_process(self) -> None:
        """Imports the application, and serves until the worker is told to end."""
        _run_cli.prepare(threads=True)
        loomlet.run(super().init_process, slice=SLICE)

    def run(self) -> None:
        """Serves, from gunicorn's sockets."""
        self._take_logs()
        servers = [self._make_server(each) for each in self.sockets]
        for server in servers:
            server.start()
        beating = loomlet.spawn(self._beat, servers)
        self._told.wait()
        with loomlet.TaskGroup() as group:
            for server in servers:
                group.spawn(server.stop, float(self.cfg.graceful_timeout))
            ending = loomlet.spawn(self._end_at_once, servers)
        ending.kill()
        beating.kill()

    def _make_server(self, listening: Any) -> Server:
        cfg = self.cfg
        limits = Limits(concurrency=cfg.worker_connections, keep_alive=max(int(cfg.keepalive), 1))
        return Server(
            application=self.wsgi,
            sock=listening.sock.dup(),
            limits=limits,
            tls=gunicorn_sock.ssl_context(cfg) if cfg.is_ssl else None,
            access_log=cfg.access_log_format if cfg.accesslog else None,
            proxies=cfg.forwarded_allow_ips,
        )

    def _take_logs(self) -> None:
        """What loomlet logs goes where gunicorn's log goes."""
        pairs = (("loomlet", self.log.error_log), ("loomlet.http.access", self.log.access_log))
        for name, theirs in pairs:
            ours = logging.getLogger(name)
            ours.handlers[:] = theirs.handlers
            ours.setLevel(theirs.getEffectiveLevel())
            ours.propagate = False

    # ---- beats --------------------------------------------------------------------------------

    def _beat(self, servers: list[Server]) -> None:
        """Tells the arbiter that the worker lives, and sees what ends it."""
        period = min(MOST_BEAT, self.timeout / 2) if self.timeout else MOST_BEAT
        while True:
            self.notify()
            if not self._told.is_set() and (why := self._why_to_end(servers)):
                self.log.info("%s", why)
                self._told.set()
            loomlet.sleep(period)

    def _why_to_end(self, servers: list[Server]) -> str | None:
        if self.ppid != os.getppid():
            return f"Parent changed, shutting down: {self}"
        counts = [server.counts() for server in servers]
        self.nr = sum(each["requests"] + each["answered"] for each in counts)
        if self.nr >= self.max_requests:
            return f"Autorestarting worker after {self.nr} requests."
        return None if self.alive else f"Worker is told to end: {self}"

    def _end_at_once(self, servers: list[Server]) -> None:
        self._at_once.wait()
        for server in servers:
            server.close()

    # ---- signals ------------------------------------------------------------------------------

    def handle_exit(self, sig: int, frame: Any) -> None:
        """SIGTERM: what was begun is answered."""
        self.alive = False
        self._told.set()

    def handle_quit(self, sig: int, frame: Any) -> None:
        """SIGQUIT, SIGINT: at once."""
        self.alive = False
        self.cfg.worker_int(self)
        self._at_once.set()
        self._told.set()

    def handle_abort(self, sig: int, frame: Any) -> None:
        """SIGABRT: the arbiter has waited in vain."""
        self.cfg.worker_abort(self)
        os._exit(ABORTED)
