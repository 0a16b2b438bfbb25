"""Findings about blocking code that loomlet.patch cannot reach, as values.

Three questions.  Can the patch be installed on this interpreter, and if not, why?  Which of the
imported modules are known to wait in C, and what can be done about it?  Which of the loaded
libraries, except the interpreter's own and the C library, call system functions that wait?  The
last is a hint, not a proof: a library may call them on its own threads, or for descriptors that
never wait; and a library that makes system calls directly is not found.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import loomlet
from loomlet import _core, patch
from loomlet.doctor import elf

__all__ = ["KNOWN", "PARTS", "Library", "Module", "libraries", "loaded", "modules", "refusal"]

PARTS = (
    "time.sleep",
    "sockets",
    "select, poll, epoll",
    "TLS connections",
    "name lookups",
    "child processes",
    "descriptors and files",
    "queue.SimpleQueue",
)
BLOCKING = "run_blocking() each call"
KNOWN = {
    "MySQLdb": f"waits in its client library: {BLOCKING}, or use pymysql",
    "_curses": "waits for the terminal: use it in one thread of its own",
    "_sqlite3": f"waits for the disk and for other writers: {BLOCKING} that may wait long",
    "fcntl": "flock() and lockf() wait: use LOCK_NB, or run_blocking() them",
    "grpc": "waits on threads of its own: run_blocking() calls, or use grpc.aio by loomlet.aio",
    "gevent": "has a scheduler of its own: do not use both in one thread",
    "_multiprocessing": "locks between processes wait in C: run_blocking() acquire() and get()",
    "psycopg2": "waits in its client library: set_wait_callback(), or use psycopg",
    "pycurl": "waits in its client library: use CurlMulti with select(), or run_blocking() it",
    "readline": "input() at a terminal waits in C: run_blocking() it",
    "zmq": "waits in its own library: use poll() with its FD, or zmq.asyncio by loomlet.aio",
}
WAITING = {
    *("accept", "accept4", "connect", "recv", "recvfrom", "recvmsg", "send", "sendmsg", "sendto"),
    *("poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait"),
    *("getaddrinfo", "getnameinfo", "gethostbyname"),
    *("sleep", "usleep", "nanosleep", "clock_nanosleep"),
    *("flock", "lockf", "sem_wait", "sem_timedwait", "msgrcv", "mq_receive", "sigwait"),
    *("pthread_cond_wait", "pthread_cond_timedwait", "pthread_join"),
    *("wait", "waitid", "waitpid", "system"),
}
SYSTEM = ("ld-", "libc.", "libc-", "libm.", "libpthread", "libdl", "librt", "libgcc_s", "libpython")


class Module(NamedTuple):
    """An imported module that is known to wait in C, and advice."""

    name: str
    advice: str


class Library(NamedTuple):
    """A loaded library, and the waiting system functions that it calls."""

    path: Path
    calls: tuple[str, ...]


def refusal() -> str | None:
    """Why the patch cannot be installed here, or None.  Changes nothing."""
    if patch.installed():
        return None
    try:
        patch.install()
    except RuntimeError as error:
        return str(error)
    patch.uninstall()
    return None


def modules(imported: Iterable[str]) -> list[Module]:
    """The modules that are known to wait in C, by name."""
    return [Module(name, KNOWN[name]) for name in sorted(KNOWN.keys() & set(imported))]


def libraries(paths: Iterable[Path]) -> list[Library]:
    """The libraries that call functions that wait, by path."""
    found = [Library(path, tuple(sorted(elf.wanted(path) & WAITING))) for path in sorted(paths)]
    return [library for library in found if library.calls]


def loaded() -> set[Path]:
    """The libraries of this process, except the system's, the interpreter's and ours."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = {Path(line.split(maxsplit=5)[5]) for line in lines if ".so" in line}
    ours = {Path(str(_core.__file__)).resolve(), Path(sys.executable).resolve()}
    own = [Path(sysconfig.get_path("stdlib")) / "lib-dynload", Path(loomlet.__file__).parent]
    return {
        path
        for path in paths
        if path.resolve() not in ours
        and not path.name.startswith(SYSTEM)
        and not any(path.is_relative_to(folder.resolve()) for folder in own)
    }
