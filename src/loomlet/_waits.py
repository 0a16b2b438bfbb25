"""What tasklets wait for, as text: one of them, all of a Deadlock, a ring of them.

A line names the tasklet, the operation and its object, the tasklet that holds it, and the
innermost line of the user's: frames of loomlet are left out, and those of the standard library
follow in brackets.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from types import CodeType

from loomlet import _core

__all__ = ["describe", "describe_all", "report_aside", "report_ring", "rings"]

LISTED = 100
"""How many lines a Deadlock has at most."""

_PACKAGE = os.path.dirname(__file__) + os.sep
_LIBRARY = os.path.dirname(os.__file__) + os.sep
_INSTALLED = (os.path.join(_LIBRARY, "site-packages"), os.path.join(_LIBRARY, "dist-packages"))

_Frame = tuple[CodeType, int]


def describe(tasklet: _core.Tasklet, names: dict[int, str] | None = None) -> str:
    """One line: the tasklet's name, what it does or waits for, who holds that, and where it is.

    `names`: of tasklets by their ids; None: of those of the calling thread.
    """
    return f"{tasklet.name}: {_wait(tasklet, _names() if names is None else names)}"


def describe_all(tasklets: list[_core.Tasklet]) -> list[str]:
    """What blocked tasklets wait for: equal waits in one line, no more lines than LISTED, and the
    rings among them."""
    names = _names()
    groups = _grouped(tasklets, exact=True)
    if len(groups) > LISTED:
        groups = _grouped(tasklets, exact=False)
    lines = []
    for first, *more in groups[:LISTED]:
        count = f" (and {len(more)} more at this line)" if more else ""
        lines.append(f"{describe(first, names)}{count}")
    left = sum(map(len, groups[LISTED:]))
    if left:
        lines.append(f"... and {left} more tasklets")
    found = rings({tasklet.id: _holders(tasklet) for tasklet in tasklets})
    return lines + [f"in a ring: {_chain(ring, names)}" for ring in found[:LISTED]]


def report_ring(tasklets: list[_core.Tasklet]) -> None:
    """Prints a ring of tasklets that wait for each other on stderr; the core calls this once for
    each."""
    if sys.stderr is None:
        return
    number = "a tasklet waits" if len(tasklets) == 1 else f"{len(tasklets)} tasklets wait"
    text = f"loomlet: {number} for each other; only a cancel, a kill or a timeout can end that:\n"
    sys.stderr.write("".join([text, *_listed(tasklets, _names())]))


def report_aside(tasklets: list[_core.Tasklet]) -> None:
    """Prints on stderr that a tasklet, the first, sits in C in the thread in which the others must
    run; the core calls this once for each call that does not return."""
    if sys.stderr is None:
        return
    names = _names()
    sitter, *held = tasklets
    one = len(held) == 1
    number, kept = (
        ("a tasklet is", "its stack") if one else (f"{len(held)} tasklets are", "their stacks")
    )
    text = f"loomlet: {number} held up by a C call in the thread that keeps {kept}:\n"
    call = f"  the call: {describe(sitter, names)}\n"
    sys.stderr.write("".join([text, call, *_listed(held, names, "held up: ")]))


def _listed(tasklets: list[_core.Tasklet], names: dict[int, str], what: str = "") -> list[str]:
    lines = [f"  {what}{describe(tasklet, names)}\n" for tasklet in tasklets[:LISTED]]
    left = len(tasklets) - len(lines)
    return lines + ([f"  ... and {left} more tasklets\n"] if left else [])


def rings(waits: dict[int, list[int]]) -> list[list[int]]:
    """Tasklets that wait for each other in a ring, each ring beginning with its smallest id.

    `waits`: the ids of those that a tasklet waits for.  One ring for each point where a search
    meets its own path; of rings that share tasklets one may be reported.
    """
    seen: set[int] = set()
    found = []
    for start in waits:
        if start not in seen:
            found += _search(start, waits, seen)
    return found


def _search(start: int, waits: dict[int, list[int]], seen: set[int]) -> list[list[int]]:
    """Depth first, without recursion: chains may be a hundred thousand long."""
    found = []
    path, position, left = [start], {start: 0}, [list(waits[start])]
    seen.add(start)
    while path:
        if not left[-1]:
            del position[path.pop()]
            left.pop()
            continue
        at = left[-1].pop()
        if at in position:
            ring = path[position[at] :]
            low = ring.index(min(ring))
            found.append(ring[low:] + ring[:low])
        elif at not in seen and at in waits:
            seen.add(at)
            position[at] = len(path)
            path.append(at)
            left.append(list(waits[at]))
    return found


def _names() -> dict[int, str]:
    return {tasklet.id: tasklet.name for tasklet in _core.tasklets()}


def _named(number: int, names: dict[int, str]) -> str:
    return names.get(number, f"tasklet {number}, which has ended or is another thread's")


def _chain(ring: list[int], names: dict[int, str]) -> str:
    return " -> ".join(_named(number, names) for number in [*ring, ring[0]])


def _holders(tasklet: _core.Tasklet) -> list[int]:
    target = tasklet.waiting_for
    if isinstance(target, _core.Group):
        return [child.id for child in target._children]
    return tasklet._holders()


def _grouped(tasklets: Iterable[_core.Tasklet], exact: bool) -> list[list[_core.Tasklet]]:
    """Those that wait in the same operation at the same line, and (exact) for the same object."""
    groups: dict[object, list[_core.Tasklet]] = {}
    for tasklet in tasklets:
        object_key = _identity(tasklet.waiting_for) if exact else None
        key = (tasklet.waiting_in, tasklet._where(), object_key)
        groups.setdefault(key, []).append(tasklet)
    return list(groups.values())


def _identity(target: object) -> object:
    if isinstance(target, tuple):
        return tuple(id(part) for part in target)
    return target if isinstance(target, float) else id(target)


def _wait(tasklet: _core.Tasklet, names: dict[int, str]) -> str:
    what = tasklet.waiting_in or tasklet.state
    target = tasklet.waiting_for
    on = "" if target is None else f" {_short(target)}"
    return f"{what}{on}{_held(tasklet, names)}{_location(tasklet._stack())}"


def _held(tasklet: _core.Tasklet, names: dict[int, str]) -> str:
    """Who holds the lock that it waits for."""
    holders = tasklet._holders() if tasklet.waiting_in == "acquire" else []
    if not holders:
        return ""
    holder = "itself" if holders[0] == tasklet.id else _named(holders[0], names)
    return f" held by {holder}"


def _location(stack: list[_Frame]) -> str:
    """The user's innermost line, and the one of the standard library that it has called."""
    shown = [frame for frame in stack if not frame[0].co_filename.startswith(_PACKAGE)] or stack
    if not shown:
        return ""
    mine = next((frame for frame in shown if not _is_library(frame[0])), shown[0])
    inside = "" if mine is shown[0] else f" (in{_at(shown[0])[3:]})"
    return _at(mine) + inside


def _is_library(code: CodeType) -> bool:
    name = code.co_filename
    return name.startswith((_LIBRARY, "<frozen ")) and not name.startswith(_INSTALLED)


def _at(frame: _Frame) -> str:
    code, line = frame
    return f" at {code.co_filename}:{line} in {code.co_qualname}"


def _short(target: object) -> str:
    if isinstance(target, float):
        return f"until {target:.3f}"
    if isinstance(target, tuple):
        more = f" and {len(target) - 6} more" if len(target) > 6 else ""
        return ", ".join(repr(part) for part in target[:6]) + more
    return repr(target)


_core._set_wait_callbacks(report_ring, report_aside)
