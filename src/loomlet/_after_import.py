"""Calls a function with a module as soon as it has been loaded.

A finder that is among the first in `sys.meta_path` has the module found by the other ones and puts
a loader in front of its own, for the time of the loading.  A module that is loaded already is given
to the function at once.  What the module's importer sees is the finished module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["call", "forget"]


class _Loader:
    """Loads a module with its own loader and calls the function."""

    def __init__(self, loader: Any, function: Callable[[ModuleType], None]) -> None:
        self.loader = loader
        self.function = function

    def create_module(self, spec: ModuleSpec) -> Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.function(module)


class _Finder:
    """The finder; `functions`: what is called, by the name of the module."""

    def __init__(self) -> None:
        self.functions: dict[str, Callable[[ModuleType], None]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        function = self.functions.get(name)
        if function is None:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = _Loader(spec.loader, function)  # type: ignore[assignment]
                return spec
        return None


_finder = _Finder()


def call(name: str, function: Callable[[ModuleType], None]) -> None:
    """Has the function called with the module of that name, now or when it has been loaded.

    One function for each name.  Any thread.
    """
    _finder.functions[name] = function
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    loaded = sys.modules.get(name)
    if loaded is not None:
        function(loaded)


def forget(name: str) -> None:
    """Undoes call() for a module that is loaded from now on.  Any thread."""
    _finder.functions.pop(name, None)
