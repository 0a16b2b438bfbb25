"""Loads freezing, and cloudpickle with it, when it is first needed.

This halves the time of `import loomlet`.  The names of loomlet.snapshot are found through
`__getattr__` of the module loomlet, and the native types are pickled by functions that first load
the real ones.  Any thread.
"""

from __future__ import annotations

from typing import Any

from loomlet import _core

__all__ = ["find"]

NAMES = ("clone", "freeze", "thaw", "why_not_freezable")


def find(name: str) -> Any:
    """A name of loomlet that has not been loaded yet."""
    if name not in NAMES:
        raise AttributeError(f"module 'loomlet' has no attribute {name!r}")
    from loomlet import snapshot

    return getattr(snapshot, name)


def _reduce(value: Any) -> Any:
    from loomlet.snapshot import _stackless_pickle

    return _stackless_pickle.reduce(value)


def _set_state(value: Any, state: Any) -> None:
    from loomlet.snapshot import _stackless_pickle

    _stackless_pickle.set_state(value, state)


_core._set_pickling(_reduce, _set_state)
