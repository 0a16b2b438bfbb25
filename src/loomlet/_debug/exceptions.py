"""Exceptions that are kept alive: which, how much they keep, and who holds them.

The search is the core's (src/core/debug/holders.c); here are the roots from which it begins, and
the words for what it finds.  Roots are what a program is made of: its modules, the frames that run
in its threads, the exceptions that these handle, its tasklets.  The frames of this module are no
roots.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
from collections.abc import Iterable, Iterator
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from loomlet import _core
from loomlet._debug import holders

__all__ = ["FORMAT", "KeptException", "answer", "doctor", "read"]

FORMAT = "loomlet-exceptions\t1"
"""The first line of an answer; then a line of JSON for each exception, and `end`."""

_THREAD_DATA, _IN_CYCLE, _UNKNOWN = -1, -2, -3
_MESSAGE = 80
_HERE = os.path.dirname(__file__) + os.sep


class KeptException(NamedTuple):
    """An exception that is alive, with a traceback."""

    kind: str
    """The name of its type."""
    message: str
    """The beginning of its text; empty if its arguments are not strings or numbers."""
    where: str
    """Where it was raised: function, file and line."""
    held_by: str
    """"root", "cycle" (garbage that only a collection frees) or "unknown" (held by C code)."""
    path: tuple[str, ...]
    """The way to it, from the module, thread or tasklet that it hangs on."""
    objects: int
    """How many objects only this exception keeps alive, itself included."""
    bytes: int
    """... and what they take, as sys.getsizeof() counts: mostly the variables of its frames."""

    def __str__(self) -> str:
        """The path as a line."""
        return " -> ".join(self.path)


def doctor() -> list[KeptException]:
    """The exceptions with a traceback that are alive in this process, those that keep most first.

    Each has its type and text, where it was raised, what it alone keeps alive, and the path to
    whoever holds it: a variable, a suspended generator or tasklet inside `except`, a log record,
    the `__context__` of another exception, a cycle.  Also those that are handled right now.

    Any thread, inside run() or not.  The other threads stand still meanwhile: 50 to 150 ms for a
    million objects.  No code of the program runs.
    """
    roots = list(_roots())
    found = _core._find_holders([root for _, root in roots])
    kept = [_describe(roots, one) for one in found]
    return sorted(kept, key=lambda one: one.bytes, reverse=True)


def answer(fd: int) -> None:
    """Writes what doctor() finds to a connection, which is closed."""
    with socket.socket(fileno=fd) as connection, contextlib.suppress(OSError):
        lines = [FORMAT, *(json.dumps(one) for one in doctor()), "end"]
        connection.sendall("".join(f"{line}\n" for line in lines).encode())


def read(lines: Iterable[str]) -> list[KeptException]:
    """The exceptions of an answer; ValueError for one that is not whole."""
    first, *rest = [*lines, ""]
    if first != FORMAT or "end" not in rest:
        raise ValueError(f"expected a list of exceptions, found {first[:80]!r}")
    found = [json.loads(line) for line in rest[: rest.index("end")]]
    return [KeptException._make([*one[:4], tuple(one[4]), *one[5:]]) for one in found]


def _roots() -> Iterator[tuple[str, object]]:
    """Each with the text that comes before its path."""
    threads = {thread.ident: thread.name for thread in threading.enumerate()}
    handled: dict[int, Any] = sys._current_exceptions()
    for ident, value in handled.items():
        error = value[1] if isinstance(value, tuple) else value  # 3.11
        if error is not None:
            yield f"thread {threads.get(ident, ident)} handles it: ", error
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType):
            yield "module ", module
    frames = sys._current_frames()
    while frames:  # no variable may refer to a frame of ours: that would be a cycle
        ident = next(iter(frames))
        for each in _frames(frames.pop(ident)):
            yield f"thread {threads.get(ident, ident)}: ", each
    for tasklet in _core._all_tasklets():
        yield "", tasklet


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_HERE):
            yield frame
        frame = frame.f_back


def _describe(
    roots: list[tuple[str, object]], found: tuple[BaseException, int, list[Any], int, int]
) -> KeptException:
    error, root, path, objects, size = found
    held_by = "root"
    if root in (_IN_CYCLE, _UNKNOWN):
        held_by = "unknown" if root == _UNKNOWN else "cycle"
        path = [*path, error] if path[0] is error and root == _IN_CYCLE else path
    way = list(holders.steps(path))
    if root >= 0:
        text, value = roots[root]
        if isinstance(value, FrameType):
            way.insert(0, f"{text}{holders.name(value)}{holders.variable(value, path[0])}")
        else:
            way[0] = text + way[0]
    elif root == _THREAD_DATA:
        way[0] = f"data of a thread: {way[0]}"
    kind, where = holders.name(error), _where(error)
    return KeptException(kind, _message(error), where, held_by, tuple(way), objects, size)


def _message(error: BaseException) -> str:
    args = BaseException.args.__get__(error)  # type: ignore[attr-defined]
    plain = [str(one) for one in args if type(one) in (str, int, float, bool)]
    return ", ".join(plain)[:_MESSAGE] if len(plain) == len(args) else ""


def _where(error: BaseException) -> str:
    entry = error.__traceback__
    if entry is None:
        return ""
    while entry.tb_next is not None:
        entry = entry.tb_next
    code = entry.tb_frame.f_code
    return f"{code.co_qualname} ({code.co_filename}:{entry.tb_lineno})"
