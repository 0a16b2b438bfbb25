"""Ordinary pickles of functions that no name leads to: lambdas and local functions, by value.

In Stackless every pickler knew them.  CPython's look for a function by its name and call no
reducer, unless their class has `reducer_override`; so `pickle` gets picklers with one, in C and in
Python, and functions that use these.  What has been derived from the old ones before, such as those
of cloudpickle and multiprocessing, stays as it is.

A function that can be imported is pickled by name as before, and so is the module of one that
cannot; a variable that leads back to its function is pickled once.  Any thread.
"""

from __future__ import annotations

import io
import pickle
from types import FunctionType
from typing import Any

from loomlet.snapshot import _copyreg_support, _importable

__all__ = ["install"]


def _override(value: Any) -> Any:
    if type(value) is FunctionType and _importable.function(value) is None:
        return _copyreg_support.reduce(value)
    return NotImplemented


class Pickler(pickle.Pickler):
    """pickle.Pickler, with functions by value."""

    def reducer_override(self, value: Any) -> Any:
        """The reduction of a function without a name."""
        return _override(value)


class PythonPickler(pickle._Pickler):
    """pickle._Pickler, with functions by value."""

    def reducer_override(self, value: Any) -> Any:
        """The reduction of a function without a name."""
        return _override(value)


def dump(value: Any, file: Any, protocol: int | None = None, **options: Any) -> None:
    """pickle.dump()"""
    Pickler(file, protocol, **options).dump(value)


def dumps(value: Any, protocol: int | None = None, **options: Any) -> bytes:
    """pickle.dumps()"""
    file = io.BytesIO()
    Pickler(file, protocol, **options).dump(value)
    return file.getvalue()


def _dump(value: Any, file: Any, protocol: int | None = None, **options: Any) -> None:
    PythonPickler(file, protocol, **options).dump(value)


def _dumps(value: Any, protocol: int | None = None, **options: Any) -> bytes:
    file = io.BytesIO()
    PythonPickler(file, protocol, **options).dump(value)
    return file.getvalue()


def install() -> None:
    """Puts these into the module `pickle`, as they were there in Stackless."""
    names: dict[str, Any] = {
        "Pickler": Pickler,
        "_Pickler": PythonPickler,
        "dump": dump,
        "dumps": dumps,
        "_dump": _dump,
        "_dumps": _dumps,
    }
    for name, value in names.items():
        value.__module__, value.__qualname__ = "pickle", name
        setattr(pickle, name, value)
