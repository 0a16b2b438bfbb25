"""Exceptions with their traceback, cause, context and notes; tracebacks as data.

An exception is built from its arguments and filled in a second step.  A traceback cannot be made
without frames, and the real ones are gone or in use; so each entry is raised again by a code object
of two instructions that has the entry's file, function name and position.  Printed tracebacks are
the same; `tb_frame.f_locals` is empty.  Saving the real code was rejected: it is more than the
exception says.  A frame that is pickled by itself is made in the same way, and has its variables.
Any thread.
"""

from __future__ import annotations

import opcode
import sys
from inspect import CO_NEWLOCALS, CO_OPTIMIZED
from types import CodeType, FrameType, TracebackType
from typing import Any

from loomlet.snapshot._builders import named_in_bytes
from loomlet.snapshot._functions import shared
from loomlet.snapshot._progress import Saving

__all__ = [
    "fill_exception",
    "fill_frame",
    "new_exception",
    "new_frame",
    "new_traceback",
    "reduce_exception",
    "reduce_frame",
    "reduce_traceback",
]

LONG_ENTRY = 14
"""The kind of an entry of co_linetable that holds lines and columns."""
_NO_POSITION = 15
_NAME = "\0"
"""A name that is not in any module, so deleting it raises."""


@named_in_bytes
def new_exception(kind: type[BaseException], *args: Any) -> BaseException:
    """An exception after the builtin part of its construction; the class's own __init__ is not
    called, because its arguments are not known."""
    made = kind.__new__(kind, *args)
    _builtin_base(kind).__init__(made, *args)
    return made


def _builtin_base(kind: type[BaseException]) -> type[BaseException]:
    return next(base for base in kind.__mro__ if base.__module__ == "builtins")


def reduce_exception(saving: Saving, error: BaseException) -> Any:
    """Its own reduction, and the attributes that this leaves out."""
    kind = type(error)
    more = (error.__traceback__, error.__cause__, error.__context__, error.__suppress_context__)
    if kind.__reduce_ex__ is not object.__reduce_ex__ or kind.__reduce__ is not _usual(kind):
        reduced: Any = error.__reduce_ex__(5)
    else:
        own = error.__dict__ or None
        reduced = (new_exception, (kind, *error.args), own)
    if isinstance(reduced, str) or more == (None, None, None, False):
        return _as_exception(reduced)
    state = reduced[2] if len(reduced) > 2 else None
    return reduced[0], reduced[1], (state, *more), None, None, fill_exception


def _as_exception(reduced: Any) -> Any:
    if isinstance(reduced, str) or len(reduced) < 3 or reduced[2] is None:
        return reduced[:2] if isinstance(reduced, tuple) else reduced
    return reduced


def _usual(kind: type[BaseException]) -> object:
    base = _builtin_base(kind)
    return BaseException.__reduce__ if base.__reduce__ is BaseException.__reduce__ else None


@named_in_bytes
def fill_exception(error: BaseException, state: tuple[Any, ...]) -> None:
    """The second step."""
    own, traceback, cause, context, suppress = state
    if own is not None:
        error.__setstate__(own)
    error.__traceback__, error.__cause__, error.__context__ = traceback, cause, context
    error.__suppress_context__ = suppress


def reduce_traceback(saving: Saving, traceback: TracebackType) -> Any:
    """A flat tuple for the whole chain: file, function, module, position of each entry."""
    if saving.shared is not None:
        return shared(saving, traceback)
    parts: list[Any] = []
    step: TracebackType | None = traceback
    while step is not None:
        parts.append(entry_of(step.tb_frame, step.tb_lasti, step.tb_lineno))
        step = step.tb_next
    return new_traceback, tuple(parts)


def reduce_frame(saving: Saving, frame: FrameType) -> Any:
    """For pickle one that shows the same position, with its variables if it has its own."""
    if saving.freezes:
        raise TypeError("cannot pickle 'frame' object")
    values = frame.f_locals
    kept = {} if values is frame.f_globals else dict(values)
    entry = entry_of(frame, frame.f_lasti, frame.f_lineno)
    return new_frame, entry, kept or None, None, None, fill_frame


def entry_of(frame: FrameType, lasti: int, line: int) -> tuple[Any, ...]:
    """What new_frame() and new_traceback() take: file, names, module and position."""
    code, module = frame.f_code, frame.f_globals.get("__name__")
    return code.co_filename, code.co_name, code.co_qualname, module, *position(code, lasti, line)


@named_in_bytes
def new_frame(filename: str, name: str, qualname: str, module: str | None, *where: Any) -> Any:
    """A frame that has ended at the given position, without variables yet."""
    return _frame(_code(filename, name, qualname, list(where)), module)


@named_in_bytes
def fill_frame(frame: FrameType, values: dict[str, Any]) -> None:
    """The second step: its variables, of which one may be the frame."""
    frame.f_locals.update(values)


def position(code: CodeType, lasti: int, line: int) -> tuple[int, int, int | None, int | None]:
    """Line, last line and columns of an instruction."""
    for number, found in enumerate(code.co_positions()):
        if number == lasti // 2:
            first, last, column, end = found
            if first == line:
                return line, last or line, column, end
            break
    return line, line, None, None


@named_in_bytes
def new_traceback(*parts: tuple[Any, ...]) -> TracebackType | None:
    """The chain, built from its end."""
    made: TracebackType | None = None
    for filename, name, qualname, module, *where in reversed(parts):
        frame = _frame(_code(filename, name, qualname, where), module)
        made = TracebackType(made, frame, frame.f_lasti, where[0])
    return made


def _frame(code: CodeType, module: str | None) -> FrameType:
    found = sys.modules.get(module or "")
    space = {"__name__": module, "__builtins__": {}} if found is None else found.__dict__
    try:
        exec(code, space, {})
    except NameError as raised:
        entry = raised.__traceback__
        assert entry is not None and entry.tb_next is not None
        return entry.tb_next.tb_frame
    raise AssertionError("a name that is not in any module was found")


def _code(filename: str, name: str, qualname: str, where: list[Any]) -> CodeType:
    """Code that raises at the given position."""
    line, last, column, end = where
    return _raising.replace(
        co_filename=filename,
        co_name=name,
        co_qualname=qualname,
        co_firstlineno=line,
        co_linetable=_table(last - line, column, end, len(_raising.co_code) // 2),
    )


def _table(lines: int, column: int | None, end: int | None, units: int) -> bytes:
    """One entry of co_linetable per eight code units, all with the same position."""
    if column is None or end is None or lines < 0:
        kind, tail = 13, b"\0"
    else:
        kind = LONG_ENTRY
        tail = b"\0" + _number(lines) + _number(column + 1) + _number(end + 1)
    table = b""
    while units > 0:
        table += bytes([0x80 | kind << 3 | min(units, 8) - 1]) + tail
        units -= 8
    return table


def _number(value: int) -> bytes:
    """Six bits to a byte, lowest first."""
    parts = []
    while value > 63:
        parts.append(64 | value & 63)
        value >>= 6
    return bytes([*parts, value])


def _make_raising() -> CodeType:
    """`resume; delete a global that does not exist`."""

    def template() -> None:
        pass

    code = bytes([opcode.opmap["RESUME"], 0, opcode.opmap["DELETE_GLOBAL"], 0])
    made = template.__code__
    tail = made.co_code[4:]
    flags = made.co_flags & ~(CO_OPTIMIZED | CO_NEWLOCALS)  # so its variables are a dict
    return made.replace(
        co_code=code + tail, co_names=(_NAME,), co_exceptiontable=b"", co_flags=flags
    )


_raising = _make_raising()
