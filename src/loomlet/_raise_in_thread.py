"""`ctypes.pythonapi.PyThreadState_SetAsyncExc` for threads that are tasklets.

By that function programs raise an exception in another thread, to end it: a recipe that many know,
and several libraries.  The interpreter's own knows threads of the system only.  Ours finds the
others too, and passes the rest on; so it may stay for ever.  `ctypes` keeps the functions that it
has looked up as attributes, where ours is put as soon as `ctypes` is imported.

Rejected: importing `ctypes` always, which takes longer than all the rest of install().
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from loomlet import _core

__all__ = ["replace"]

NAME = "ctypes"
FUNCTION = "PyThreadState_SetAsyncExc"
_done: list[ModuleType | _Finder] = []  # where it was put, or will be


class _Loader:
    """Loads the module with its own loader, which it has afterwards."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        _put_into(module)


class _Finder:
    """Waits for the import of ctypes."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != NAME:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
        return spec


def replace() -> None:
    """From now on, or from the import of ctypes on, the function finds tasklets.  Once."""
    if _done:
        return
    loaded = sys.modules.get(NAME)
    if loaded is not None:
        _put_into(loaded)
    else:
        _done.append(_Finder())
        sys.meta_path.insert(0, _done[0])


def _put_into(ctypes: Any) -> None:
    """Made like the functions that ctypes looks up: the caller may give it types of arguments."""
    _done[:] = [ctypes]
    made = ctypes.pythonapi._FuncPtr(_core._raise_in_thread())
    made.__name__ = FUNCTION
    setattr(ctypes.pythonapi, FUNCTION, made)
