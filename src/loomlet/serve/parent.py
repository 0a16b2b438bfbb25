"""The parent process: it opens the sockets, and starts, watches and replaces workers.

It runs nothing but this: no application (unless --preload), no tasklet.  Each seat has a socket
and, most of the time, one worker.  A worker that has ended unasked is replaced at once; one that
has not said that it is alive for --timeout-worker-healthcheck seconds is dumped, killed and
replaced.

A worker has the socket of its own seat and no other, and the parent closes all when it ends: so a
socket is gone with the worker that no longer accepts from it, and later clients are refused.

Replacing (SIGHUP, a lifetime, a limit): a new worker begins on the same socket, and when it is
ready the old one is told to end.  If the new one cannot begin, the old one goes on.

Signals: SIGTERM and SIGINT end all gracefully, and at once when they come again; SIGHUP replaces
all workers; SIGUSR1 is passed on to them, and they print what they do.  A handler of SIGUSR1 that
the application has set (--preload) is left alone.

A service manager that asks for it (NOTIFY_SOCKET, as systemd sets it) is told when the first worker
is ready, and when all are told to end.

Rejected: workers that open their own sockets (what waits in the queue of a socket is lost with
it); an application that is imported here and forked (its threads would not be).
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from loomlet._debug.at_signal import dump_at_signal
from loomlet.serve.settings import Settings
from loomlet.serve.worker import FULL, READY, work

__all__ = ["Parent"]

log = logging.getLogger("loomlet.serve")

LOOK = 0.5
"""Seconds between two looks at the workers."""
DUMP = 3.0
"""Seconds that the dump of a worker may take."""
FAILED_TO_BEGIN = 3
TOO_OFTEN, AGAIN = 5, 1.0
"""So many ends in a row within a second each: then there is a pause of so many seconds."""


class Worker:
    """A process on one seat.  told: when it was told to end.  replaced: another one begins in its
    seat."""

    def __init__(self, pid: int, seat: int, pipe: int, replaces: Worker | None) -> None:
        self.pid = pid
        self.seat = seat
        self.pipe = pipe
        self.replaces = replaces
        self.replaced = False
        self.begun = self.heard = time.monotonic()
        self.ready = False
        self.ending = False
        self.told: float | None = None


class Parent:
    """Runs workers until it is told to end; run() returns the exit status."""

    def __init__(
        self,
        settings: Settings,
        sockets: list[socket.socket],
        early: Any = None,
        changed: Callable[[], bool] | None = None,
    ) -> None:
        self.settings = settings
        self.sockets = sockets
        self.early = early
        self.changed = changed
        self.workers: dict[int, Worker] = {}
        self.stopping = False
        self.status = 0
        self._selector = selectors.DefaultSelector()
        self._wakeup, self._woken = socket.socketpair()
        self._signals: list[int] = []
        self._quick_ends = 0
        self._pause_until = 0.0

    # ---- running ------------------------------------------------------------------------------

    def run(self) -> int:
        """Until all workers have ended."""
        self._catch_signals()
        for seat in range(len(self.sockets)):
            self._start(seat)
        while self.workers or not self.stopping:
            self._look()
        return self.status

    def _look(self) -> None:
        for key, _ in self._selector.select(LOOK):
            if key.data is None:
                self._woken.recv(64)
            else:
                self._listen(key.data)
        while self._signals:
            self._obey(self._signals.pop(0))
        self._bury()
        now = time.monotonic()
        for worker in list(self.workers.values()):
            self._check(worker, now)
        if not self.stopping:
            self._fill(now)
            if self.changed is not None and self.changed():
                log.info("files have changed: the workers are replaced")
                self.replace_all()

    def _catch_signals(self) -> None:
        self._woken.setblocking(False)
        self._wakeup.setblocking(False)
        signal.set_wakeup_fd(self._wakeup.fileno())
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._note_signal)
        if signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL:
            signal.signal(signal.SIGUSR1, self._note_signal)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def _note_signal(self, number: int, _: Any) -> None:
        self._signals.append(number)

    def _obey(self, number: int) -> None:
        if number == signal.SIGHUP and not self.stopping:
            log.info("SIGHUP: the workers are replaced")
            self.replace_all()
        elif number == signal.SIGUSR1:
            for worker in self.workers.values():
                _send(worker, number)
        elif number != signal.SIGHUP:
            self.stop(at_once=self.stopping)

    # ---- beginning ----------------------------------------------------------------------------

    def _start(self, seat: int, replaces: Worker | None = None) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            pid, ours = self._fork(seat)
        except OSError as error:  # there are too many processes or files, or no memory
            log.error("no worker can be started: %s", error)
            self._pause_until = time.monotonic() + AGAIN
            return
        worker = Worker(pid, seat, ours, replaces)
        if replaces is not None:
            replaces.replaced = True
        self.workers[pid] = worker
        self._selector.register(ours, selectors.EVENT_READ, worker)

    def _fork(self, seat: int) -> tuple[int, int]:
        """A worker's number, and the pipe that it writes to.  A signal that reaches it before it
        has handlers of its own waits, else it would be noted for a parent which it is not.

        Both share the memory of the objects that exist now: they are frozen, so that the worker's
        collector does not write to them."""
        gc.freeze()
        ours, theirs = os.pipe()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])
        try:
            pid = os.fork()
            if pid == 0:
                os.close(ours)
                os._exit(self._become_worker(seat, theirs, mask))
        except OSError:
            os.close(ours)
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.close(theirs)
        return pid, ours

    def _leave_signals(self, mask: Iterable[int]) -> None:
        """In the child of the fork: none of the parent's handlers is left."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        if signal.getsignal(signal.SIGUSR1) == self._note_signal:
            signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _become_worker(self, seat: int, pipe: int, mask: Iterable[int]) -> int:
        """In the child of the fork: nothing of the parent's is left, and it is a worker."""
        status = 1
        try:
            self._leave_signals(mask)
            dump_at_signal()
            self._selector.close()
            self._wakeup.close()
            self._woken.close()
            for worker in self.workers.values():
                os.close(worker.pipe)
            own = self.sockets[seat]
            for sock in self.sockets:
                if sock is not own:
                    sock.close()
            status = work(self.settings, own, pipe, self.early)
        finally:
            with contextlib.suppress(Exception):
                logging.shutdown()
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    def _fill(self, now: float) -> None:
        """Places without a worker get one, unless they end as soon as they begin."""
        filled = {worker.seat for worker in self.workers.values() if not worker.ending}
        if now >= self._pause_until:
            for seat in range(len(self.sockets)):
                if seat not in filled:
                    self._start(seat)

    # ---- watching -----------------------------------------------------------------------------

    def _listen(self, worker: Worker) -> None:
        data = os.read(worker.pipe, 4096)
        worker.heard = time.monotonic()
        if READY in data and not worker.ready:
            worker.ready = True
            self._quick_ends = 0
            log.info("worker %d serves", worker.pid)
            tell_manager("READY=1")
            if worker.replaces is not None:
                self._end(worker.replaces)
                worker.replaces = None
        if FULL in data:
            log.info("worker %d has done its part and is replaced", worker.pid)
            self.replace(worker)
        if not data:
            self._selector.unregister(worker.pipe)

    def _check(self, worker: Worker, now: float) -> None:
        limit = self.settings.healthcheck
        if worker.told is not None and now - worker.told > self.settings.graceful + 1:
            log.warning("worker %d has not ended in time and is killed", worker.pid)
            self._kill(worker)
        elif limit is not None and now - worker.heard > limit:
            log.error("worker %d has not answered for %g s and is killed", worker.pid, limit)
            self._report(worker)
            self._kill(worker)
        elif (
            self.settings.lifetime is not None
            and worker.ready
            and now - worker.begun > self.settings.lifetime
        ):
            self.replace(worker)

    def _report(self, worker: Worker) -> None:
        """What it does, if that can be had in a short time: it may be stopped as a whole."""
        import subprocess

        command = [sys.executable, "-P", "-m", "loomlet", "dump", str(worker.pid)]
        try:
            dump = subprocess.run(
                command, capture_output=True, text=True, timeout=DUMP, check=False
            )
        except subprocess.TimeoutExpired:
            log.error("worker %d gives no dump: the process is stopped", worker.pid)
        else:
            log.error("%s", (dump.stdout or dump.stderr).strip())

    def _bury(self) -> None:
        """Workers that have ended."""
        while self.workers:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            worker = self.workers.pop(pid, None)
            if worker is not None:
                self._forget(worker, os.waitstatus_to_exitcode(status))

    def _forget(self, worker: Worker, status: int) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(worker.pipe)
        os.close(worker.pipe)
        for other in self.workers.values():
            if other.replaces is worker:  # its number is free for any process
                other.replaces = None
        if worker.replaces is not None:
            log.error("the new worker could not begin: worker %d goes on", worker.replaces.pid)
            worker.replaces.replaced = False
            return
        if worker.ending or self.stopping:
            if status not in (0, -signal.SIGKILL, -signal.SIGTERM):
                log.error("worker %d has not ended well (%s)", worker.pid, _how(status))
            return
        if not worker.ready and status == FAILED_TO_BEGIN and not self._has_ready_worker():
            self.status = FAILED_TO_BEGIN
            self.stop()
            return
        log.error("worker %d has ended (%s)", worker.pid, _how(status))
        self._quick_ends += 1
        if self._quick_ends >= TOO_OFTEN:
            self._pause_until = time.monotonic() + AGAIN

    def _has_ready_worker(self) -> bool:
        return any(worker.ready for worker in self.workers.values())

    # ---- ending -------------------------------------------------------------------------------

    def replace(self, worker: Worker) -> None:
        """Another one begins on its seat, and it ends when that is ready."""
        if not (worker.replaced or worker.ending or self.stopping):
            self._start(worker.seat, worker)

    def replace_all(self) -> None:
        """The same for all."""
        for worker in list(self.workers.values()):
            if worker.replaces is None:
                self.replace(worker)

    def stop(self, *, at_once: bool = False) -> None:
        """All end: gracefully, or at once."""
        self.stopping = True
        tell_manager("STOPPING=1")
        for sock in self.sockets:
            sock.close()
        for worker in self.workers.values():
            if at_once:
                self._kill(worker)
            else:
                self._end(worker)

    def _end(self, worker: Worker) -> None:
        worker.ending = True
        if worker.told is None:
            worker.told = time.monotonic()
        _send(worker, signal.SIGTERM)

    def _kill(self, worker: Worker) -> None:
        _send(worker, signal.SIGKILL)


def _send(worker: Worker, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(worker.pid, number)


def tell_manager(state: str) -> None:
    """Tells the service manager, if there is one that wants to know."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if path[:1] not in ("/", "@"):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock, contextlib.suppress(OSError):
        sock.sendto(state.encode(), path.replace("@", "\0", 1) if path[0] == "@" else path)


def _how(status: int) -> str:
    return f"status {status}" if status >= 0 else signal.Signals(-status).name
