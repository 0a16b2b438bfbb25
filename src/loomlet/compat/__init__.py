"""Other libraries' interfaces on loomlet's core.

`install(name)` makes `import name` import the compatible module; without it, import the module from
this package: `import loomlet.compat.stackless as stackless`.  Any thread; best before other code
imports that name.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

__all__ = ["install"]

_MODULES = {"greenlet": ("",), "stackless": ("", "_wrap")}
"""The modules that can be installed, and their submodules."""


def install(name: str) -> ModuleType:
    """Makes `import name` and `import name.submodule` import loomlet's module; returns it.

    The names are "greenlet" and "stackless"; another one is a ValueError.  Modules that have
    imported the original before keep it.
    """
    if name not in _MODULES:
        known = ", ".join(repr(known) for known in sorted(_MODULES))
        raise ValueError(f"install() expected one of {known}, found {name!r}")
    module = importlib.import_module(f"{__name__}.{name}")
    for part in _MODULES[name]:
        dotted = f".{part}" if part else ""
        sys.modules[name + dotted] = sys.modules[module.__name__ + dotted]
    return module
