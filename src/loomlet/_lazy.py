"""What is loaded when it is first needed: freezing, which brings cloudpickle with it.

`import loomlet` takes half the time so.  The names of loomlet.snapshot are found through the
module's `__getattr__`, and pickle is taught our types with a reducer that loads the true one.  Any
thread.
"""

from __future__ import annotations

import copyreg
from typing import Any

from loomlet import _core

__all__ = ["find"]

NAMES = ("clone", "freeze", "thaw", "why_not_freezable")


def find(name: str) -> Any:
    """A name of loomlet that is not loaded yet."""
    if name not in NAMES:
        raise AttributeError(f"module 'loomlet' has no attribute {name!r}")
    from loomlet import snapshot

    return getattr(snapshot, name)


def _reduce(value: Any) -> Any:
    from loomlet.snapshot import ordinary

    return ordinary.reduce(value)


for _kind in (
    _core.Tasklet,
    _core.Channel,
    _core.Lock,
    _core.StacklessTasklet,
    _core.StacklessChannel,
    _core.StacklessBomb,
):
    copyreg.pickle(_kind, _reduce)
