"""Explains a failed freeze: the function and line, the variable and its type.

Pickle says which value it could not save, not where that value is.  So after a failure the values
of each frame that was read are tried one by one; the first that fails is named.  This costs nothing
when a freeze succeeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CellType, CodeType
from typing import Any

from loomlet.errors import FreezeError
from loomlet.snapshot import _pickler
from loomlet.snapshot._progress import Saving

__all__ = ["explained", "line_of"]


def explained(saving: Saving, error: Exception) -> FreezeError:
    """The error that names the variable, or as much as is known."""
    reason = str(error) or type(error).__name__
    if isinstance(error, RecursionError):
        reason = "it is nested too deeply"
    for tasklet, snapshot in list(saving.snapshots.values()):
        found = _in_snapshot(saving, snapshot)
        if found is not None:
            return FreezeError(f"{_name(tasklet)}: {found} cannot be saved: {reason}")
    return error if isinstance(error, FreezeError) else FreezeError(f"cannot be saved: {reason}")


def _name(tasklet: Any) -> str:
    return f"tasklet {tasklet.name}"


def _in_snapshot(saving: Saving, snapshot: tuple[Any, ...]) -> str | None:
    for frame in reversed(snapshot[3] or ()):
        found = _in_frame(saving, frame)
        if found is not None:
            return found
    if snapshot[1] and _fails(saving, snapshot[1]):
        return f"the arguments of {snapshot[0]!r}"
    for index, what in ((0, "function"), (4, "handled exception"), (6, "operation"), (7, "value")):
        if _fails(saving, snapshot[index]):
            return f"its {what}, {_shown(snapshot[index])},"
    context = snapshot[5]
    for variable, value in context.items() if context is not None else ():
        if _fails(saving, value):
            return f"the context variable {variable.name!r} of type {type(value).__name__}"
    return None


def _shown(value: Any) -> str:
    return f"a {type(value).__name__}" if not isinstance(value, tuple) else repr(value)


def _in_frame(saving: Saving, frame: tuple[Any, ...]) -> str | None:
    _, function, code, _, ip, _, mask, values = frame
    where = f"{code.co_qualname} ({code.co_filename}:{line_of(code, ip)})" if code else "a frame"
    for slot, value in slots(mask, values):
        if _fails(saving, value):
            held = value
            if isinstance(value, CellType) and _is_set(value):
                held = value.cell_contents
            return f"{where}: {_variable(code, slot)} of type {_type(held)}"
    if function is not None and _fails(saving, function):
        return f"{where}: the function itself, with what it refers to,"
    return None


def _is_set(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def slots(mask: int, values: tuple[Any, ...]) -> Iterator[tuple[int, Any]]:
    """(slot, value) of each slot that is filled."""
    slot = 0
    for value in values:
        while mask >> slot & 1:
            slot += 1
        yield slot, value
        slot += 1


def _variable(code: CodeType | None, slot: int) -> str:
    names: tuple[str, ...] = ()
    if code is not None:
        cells = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
        names = (*code.co_varnames, *cells, *code.co_freevars)
    return f"local variable {names[slot]!r}" if slot < len(names) else "a value in an expression"


def _type(value: Any) -> str:
    kind = type(value)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def line_of(code: CodeType, ip: int) -> int:
    """The line of the instruction at `ip`."""
    line = code.co_firstlineno
    for number, where in enumerate(code.co_positions()):
        if number > ip:
            break
        line = where[0] or line
    return line


def _fails(saving: Saving, value: Any) -> bool:
    trial = Saving(saving.partners, None if saving.shared is None else [])
    trial.snapshots.update(saving.snapshots)
    try:
        _pickler.dump(value, trial)
    except Exception:
        return True
    return False
