"""`stackless._wrap`: the names under which the reference pickles what cannot be pickled otherwise.

A pickle of Stackless Python names these types.  Its frames belong to another interpreter, so such a
pickle cannot be loaded; the names exist so that the error can say so.  Pickles of loomlet name the
builders in loomlet.snapshot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

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


class _Surrogate:
    """Stands in a pickle for an object of another type; it cannot be instantiated."""

    def __new__(cls, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(
            f"loomlet cannot unpickle a {cls.__name__} of Stackless Python: pickle it with loomlet"
        )


class async_generator(_Surrogate):
    """An async generator."""


class async_generator_asend(_Surrogate):
    """What asend() and __anext__() of an async generator return."""


class async_generator_athrow(_Surrogate):
    """What athrow() and aclose() of an async generator return."""


class cell(_Surrogate):
    """A variable of a closure."""


class code(_Surrogate):
    """Compiled code."""


class coroutine(_Surrogate):
    """A coroutine."""


class coroutine_wrapper(_Surrogate):
    """What __await__() of a coroutine returns."""


class dict_items(_Surrogate):
    """A view of a dict's items."""


class dict_keys(_Surrogate):
    """A view of a dict's keys."""


class dict_values(_Surrogate):
    """A view of a dict's values."""


class frame(_Surrogate):
    """A frame of a suspended function."""


class function(_Surrogate):
    """A function that cannot be imported by name."""


class generator(_Surrogate):
    """A generator."""


class module(_Surrogate):
    """A module."""


class range(_Surrogate):
    """A range."""


class traceback(_Surrogate):
    """A traceback."""


_reduce_frame: Callable[[Any], Any] | None = None


def set_reduce_frame(function: Callable[[Any], Any] | None) -> None:
    """Stores the function that reduces frames; nothing calls it."""
    global _reduce_frame
    _reduce_frame = function
