"""Loads public names when they are first needed: freezing and its functions, and the submodules.

Freezing loads cloudpickle, which takes as long as all the rest of `import loomlet`.  A submodule
(`loomlet.net`) is found without an import of its own.  The native types are pickled by functions
that first load the real ones.  Any thread.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from loomlet import _core

__all__ = ["find", "list_names"]

FUNCTIONS = ("clone", "freeze", "thaw", "why_not_freezable")
MODULES = (
    "aio",
    "compat",
    "gil",
    "heap",
    "http",
    "net",
    "observe",
    "patch",
    "snapshot",
    "sync",
    "testing",
)


def find(name: str) -> Any:
    """A name of loomlet that has not been loaded yet."""
    if name in FUNCTIONS:
        from loomlet import snapshot

        return getattr(snapshot, name)
    if name in MODULES:
        return importlib.import_module(f"loomlet.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("loomlet")
    raise AttributeError(f"module 'loomlet' has no attribute {name!r}")


def list_names() -> list[str]:
    """What `dir(loomlet)` lists: what is there, and what find() knows."""
    return sorted({*vars(sys.modules["loomlet"]), *FUNCTIONS, *MODULES, "__version__"})


def _reduce(value: Any) -> Any:
    from loomlet.snapshot import _stackless_pickle

    return _stackless_pickle.reduce(value)


def _set_state(value: Any, state: Any) -> None:
    from loomlet.snapshot import _stackless_pickle

    _stackless_pickle.set_state(value, state)


def _freeze_caller(tasklet: _core.Tasklet, key: bytes | None) -> None:
    """What checkpoint() of a tasklet spawns."""
    try:
        from loomlet import snapshot

        data = snapshot.freeze(tasklet, key=key)
    except BaseException as error:
        tasklet.throw(error)
    else:
        _core._go_on(tasklet, data)


_core._set_pickling(_reduce, _set_state)
_core._set_checkpoint(_freeze_caller)
