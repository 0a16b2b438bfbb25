"""A loader that gives a module under another name.

For the finders of `_old_names` and `_greenlet_import`.  It is no importlib.abc.Loader, whose module
takes longer to import than all of loomlet.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType


class _AliasLoader:
    """Puts a module in the place of the one that the import machinery has made."""

    def __init__(self, name: str) -> None:
        self.name = name

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(self.name)


def alias(name: str, module: str) -> ModuleSpec:
    """What a finder returns for `name` so that importing it gives `module`."""
    return ModuleSpec(name, _AliasLoader(module))  # type: ignore[arg-type]
