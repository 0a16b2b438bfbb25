"""What `import greenlet` gives, and what happens when greenlet's extension module is loaded.

A finder, which is among the first in `sys.meta_path` from the import of loomlet on, knows two
names, and `_after_import` tells of a third.

`greenlet`: ours (loomlet.compat.greenlet), if `replace()` was called, as `loomlet run` does.
`gevent`: it needs greenlet's interface in C; from its import on `import greenlet` gives the
original again.  `greenlet._greenlet`: the extension module itself, which is made to refuse a second
tasklet of a thread as soon as it is loaded (bind/patch/greenlet.c).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from loomlet import _after_import, _core
from loomlet._alias import alias

NAME = "greenlet"
OURS = "loomlet.compat.greenlet"
EXTENSION = "greenlet._greenlet"
NEED_EXTENSION = {"gevent"}
"""Packages that use greenlet's interface in C."""


class _Finder:
    """The finder; `replaces`: `import greenlet` gives our module."""

    replaces = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == NAME and self.replaces:
            return alias(NAME, OURS)
        if name in NEED_EXTENSION:
            self.stop_replacing()
        return None

    def stop_replacing(self) -> None:
        self.replaces = False
        ours = sys.modules.get(OURS)
        if ours is not None and sys.modules.get(NAME) is ours:
            del sys.modules[NAME]


_finder = _Finder()


def replace() -> None:
    """From now on `import greenlet` gives our module, until gevent is imported.

    Not if LOOMLET_GREENLET is "extension".
    """
    if os.environ.get("LOOMLET_GREENLET") == "extension":
        return
    if not NEED_EXTENSION & sys.modules.keys():
        _finder.replaces = True


def _guard(module: ModuleType) -> None:
    capsule = getattr(module, "_C_API", None)
    if capsule is not None:
        _core._guard_greenlet(capsule)


sys.meta_path.insert(0, _finder)
_after_import.call(EXTENSION, _guard)
