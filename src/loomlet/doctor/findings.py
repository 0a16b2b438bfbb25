"""Findings about blocking code that loomlet.patch cannot reach, as values.

Questions.  Can the patch be installed on this interpreter, and if not, why?  Which of the
imported modules are known to wait in C, and what can be done about it?  Which of the loaded
libraries, except the interpreter's own and the C library, call system functions that wait?  The
last is a hint, not a proof: a library may call them on its own threads, or for descriptors that
never wait; and a library that makes system calls directly is not found.  And which tools watch this
process, a debugger, a profiler or a coverage tool: what do they mean for tasklets?  And which
imported modules are made by pybind11, below whose calls no time slice ends?  And which ones wait
in Python once the patch is installed, although they have libraries that could wait?  And which
ones count on one thread, and so must be called inside pinned() where calls are handed over?
"""

from __future__ import annotations

import mmap
import sys
import sysconfig
from collections.abc import Container, Iterable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import NamedTuple

import loomlet
from loomlet import _core, patch
from loomlet.doctor import elf

__all__ = [
    "KNOWN",
    "PARTS",
    "TAKEN_CARE_OF",
    "Library",
    "Module",
    "Tool",
    "libraries",
    "loaded",
    "made_by_pybind11",
    "modules",
    "of_one_thread",
    "refusal",
    "taken_care_of",
    "tools",
]

PARTS = (
    "time.sleep",
    "sockets",
    "select, poll, epoll",
    "TLS connections",
    "name lookups",
    "child processes",
    "locks of files",
    "descriptors and files",
    "queue.SimpleQueue",
    "locks of multiprocessing",
    "connections of sqlite3",
)
BLOCKING = "run_blocking() each call"
KNOWN = {
    "MySQLdb": f"waits in its client library: {BLOCKING}, or use pymysql",
    "_curses": "waits for the terminal: use it in one thread of its own",
    "_sqlite3": f"waits for the disk (for other writers as a tasklet): {BLOCKING} that may be slow",
    "grpc": "waits on threads of its own: run_blocking() calls, or use grpc.aio by loomlet.aio",
    "gevent": "has a scheduler of its own, which one tasklet of a thread may use",
    "greenlet._greenlet": "works in one tasklet of a thread: compat.install('greenlet') allows all",
    "psycopg2": "waits in its client library: set_wait_callback(), or use psycopg",
    "pycurl": "waits in its client library: use CurlMulti with select(), or run_blocking() it",
    "readline": "input() at a terminal waits in C: run_blocking() it",
    "zmq": "waits in its own library: use poll() with its FD, or zmq.asyncio by loomlet.aio",
}
TAKEN_CARE_OF = {
    "psycopg": "waits by tasklets once install() has run, though its libraries are listed"
}
OF_ONE_THREAD = {
    "_tkinter": "Tcl and its windows belong to one thread",
    "PyQt5.QtWidgets": "windows belong to one thread",
    "PyQt6.QtWidgets": "windows belong to one thread",
    "PySide2.QtWidgets": "windows belong to one thread",
    "PySide6.QtWidgets": "windows belong to one thread",
    "OpenGL.GL": "a context belongs to one thread",
    "cupy": "the device and the stream are chosen per thread",
    "gi.repository.Gtk": "windows belong to one thread",
    "pycuda.driver": "a context belongs to one thread",
    "pygame.display": "the window belongs to one thread",
    "win32com": "objects belong to one thread",
    "wx": "windows belong to one thread",
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
PYBIND11 = "its callbacks are never interrupted: let long ones wait, or run_blocking() the call"
PYBIND11_MARK = b"__pybind11_internals_v"
SYSTEM = ("ld-", "libc.", "libc-", "libm.", "libpthread", "libdl", "librt", "libgcc_s", "libpython")


class Module(NamedTuple):
    """An imported module that needs attention, and advice."""

    name: str
    advice: str


class Library(NamedTuple):
    """A loaded library, and the waiting system functions that it calls."""

    path: Path
    calls: tuple[str, ...]


class Tool(NamedTuple):
    """A tool that watches this process, and what it means for tasklets."""

    name: str
    advice: str
    harmful: bool


PERF = Tool("perf", "-X perf makes every tasklet keep a C stack: 10 kB or more for each", True)
PROFILER = Tool(
    "cProfile", "takes tasklets that run meanwhile for calls: use a sampling profiler", True
)
DEBUGGER = Tool("pydevd", "stops at every breakpoint, and then the thread with all tasklets", False)
PYTHON_COVERAGE = Tool(
    "coverage", "its core pytrace has one record for all tasklets: use ctrace or sysmon", True
)
TRACING = "is on for this tasklet and those that it spawns; switches are slower meanwhile"


def tools() -> list[Tool]:
    """The debuggers, profilers and coverage tools that watch this process."""
    found = []
    if hasattr(sys, "is_stack_trampoline_active") and sys.is_stack_trampoline_active():
        found.append(PERF)
    monitoring = getattr(sys, "monitoring", None)
    names = {monitoring.get_tool(number) for number in range(6)} if monitoring else set()
    functions = {"settrace": sys.gettrace(), "setprofile": sys.getprofile()}
    if "cProfile" in names or _kind(functions["setprofile"]).startswith(("_lsprof", "cProfile")):
        found.append(PROFILER)
    if "pydevd" in sys.modules:
        found.append(DEBUGGER)
    for name, function in functions.items():
        if _kind(function).startswith("coverage.pytracer"):
            found.append(PYTHON_COVERAGE)
        elif function is not None:
            found.append(Tool(f"sys.{name}", f"{_kind(function)} {TRACING}", False))
    return found


def _kind(function: object) -> str:
    """The module and name of a trace function, or of what it is a method of."""
    owner = getattr(function, "__self__", function)
    kind = owner if hasattr(owner, "__qualname__") else type(owner)
    return f"{kind.__module__}.{kind.__qualname__}"


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


def taken_care_of(imported: Container[str]) -> list[Module]:
    """The modules that wait in Python under the patch, although they have libraries that wait."""
    return [Module(name, advice) for name, advice in TAKEN_CARE_OF.items() if name in imported]


def of_one_thread(imported: Iterable[str]) -> list[Module]:
    """The modules that count on one thread, by name."""
    found = OF_ONE_THREAD.keys() & set(imported)
    return [Module(name, OF_ONE_THREAD[name]) for name in sorted(found)]


def made_by_pybind11(imported: Iterable[str]) -> list[Module]:
    """The extension modules that hold code of pybind11, by name."""
    files = {
        name: getattr(sys.modules.get(name), "__dict__", {}).get("__file__")
        for name in sorted(imported)
    }
    return [
        Module(name, PYBIND11)
        for name, file in files.items()
        if isinstance(file, str) and file.endswith(tuple(EXTENSION_SUFFIXES))
        if _holds(Path(file), PYBIND11_MARK)
    ]


def _holds(path: Path, mark: bytes) -> bool:
    """Whether a file has these bytes; False for one that cannot be read."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(mark) >= 0
    except (OSError, ValueError):
        return False


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
