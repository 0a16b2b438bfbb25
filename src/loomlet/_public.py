"""Public objects name the public module that they are documented in, not the private one.

So `help()`, the repr of a class and the bytes of a pickle say `loomlet.TaskGroup`, wherever the
class is written.  Objects of a public module and of the native core are left as they are.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

__all__ = ["show_in"]


def show_in(module: str, *values: Any) -> None:
    """Sets `__module__` of functions, and of classes with their methods."""
    for value in values:
        if not _is_private(value):
            continue
        if isinstance(value, type):
            methods = [part for part in vars(value).values() if isinstance(part, FunctionType)]
            show_in(module, *methods)
        value.__module__ = module


def _is_private(value: Any) -> bool:
    name = getattr(value, "__module__", None) or ""
    return name != "loomlet._core" and name.startswith("loomlet.") and "._" in name
