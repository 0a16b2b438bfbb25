"""`stackless._wrap`: the names under which the reference pickles what cannot be pickled otherwise.

A pickle of Stackless Python calls such a name for a new object, and gives that its state.  What has
no bytecode in it is loaded: cells, modules, views of dicts, ranges, and generators that have ended.
Code and frames belong to another interpreter, so a pickle with these is refused by name.  Pickles
of loomlet name the builders in loomlet.snapshot.

A new object waits for its state under another type (bind/stackless/surrogate.c).  Any thread.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import (
    AsyncGeneratorType,
    CellType,
    CoroutineType,
    GeneratorType,
    ModuleType,
)
from typing import Any, NoReturn

from loomlet import _core
from loomlet.snapshot._generators import GENERATORS, ended_generator

__all__ = [
    "async_generator",
    "async_generator_asend",
    "async_generator_athrow",
    "cell",
    "code",
    "coroutine",
    "coroutine_wrapper",
    "dict_items",
    "dict_keys",
    "dict_values",
    "frame",
    "function",
    "generator",
    "module",
    "range",
    "set_reduce_frame",
    "traceback",
]

# ---- what is refused


class _Refused:
    """Stands in a pickle for an object with bytecode; it cannot be instantiated."""

    def __new__(cls, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(
            f"loomlet cannot unpickle a {cls.__name__} of Stackless Python: pickle it with loomlet"
        )


class async_generator_asend(_Refused):
    """What asend() and __anext__() of an async generator return."""


class async_generator_athrow(_Refused):
    """What athrow() and aclose() of an async generator return."""


class code(_Refused):
    """Compiled code."""


class coroutine_wrapper(_Refused):
    """What __await__() of a coroutine returns."""


class frame(_Refused):
    """A frame of a suspended function."""


class function(_Refused):
    """A function that cannot be imported by name."""


class traceback(_Refused):
    """A traceback."""


# ---- what is loaded


def cell() -> Any:
    """A variable of a closure; its state is a tuple of its content, or empty."""
    return _core._stackless_surrogate(CellType())


def module(name: str) -> Any:
    """A module that cannot be imported; its state is its dict."""
    return _core._stackless_surrogate(ModuleType(name))


def range(*limits: int) -> Any:
    """A range, complete with its arguments."""
    return _core._stackless_surrogate(builtins.range(*limits))


def dict_keys() -> Any:
    """A view of a dict's keys; its state is a tuple of the dict."""
    return _core._stackless_surrogate({}.keys())


def dict_values() -> Any:
    """A view of a dict's values; its state is a tuple of the dict."""
    return _core._stackless_surrogate({}.values())


def dict_items() -> Any:
    """A view of a dict's items; its state is a tuple of the dict."""
    return _core._stackless_surrogate({}.items())


def generator(*parts: Any) -> Any:
    """A generator that has ended; the texts in its state are its names."""
    return _ended(GeneratorType)


def coroutine(*parts: Any) -> Any:
    """A coroutine that has ended; the texts in its state are its names."""
    return _ended(CoroutineType)


def async_generator(*parts: Any) -> Any:
    """An async generator that has ended; the texts in its state are its names."""
    return _ended(AsyncGeneratorType)


def _ended(kind: type) -> Any:
    made = ended_generator(GENERATORS.index(kind), kind.__name__, kind.__name__)
    return _core._stackless_surrogate(made)


def _fill(made: Any, state: Any) -> None:
    """`made.__setstate__(state)` of a new object, which has its real type again."""
    if isinstance(made, CellType):
        if state:
            (made.cell_contents,) = state
    elif isinstance(made, ModuleType):
        made.__dict__.update(state)
    elif isinstance(made, GENERATORS):
        names = [part for part in state if isinstance(part, str)]
        if names:
            made.__name__, made.__qualname__ = names[0], names[-1]
    elif not isinstance(made, builtins.range):
        (values,) = state
        _core._stackless_show_dict(made, values)


_core._stackless_fill_surrogate(_fill)
_reduce_frame: Callable[[Any], Any] | None = None


def set_reduce_frame(function: Callable[[Any], Any] | None) -> None:
    """Stores the function that reduces frames; nothing calls it."""
    global _reduce_frame
    _reduce_frame = function
