"""`ctypes.pythonapi.PyThreadState_SetAsyncExc` for threads that are tasklets.

By that function programs raise an exception in another thread, to end it: a recipe that many know,
and several libraries.  The interpreter's own knows threads of the system only.  Ours finds the
others too, and passes the rest on; so it may stay for ever.  `ctypes` keeps the functions that it
has looked up as attributes, where ours is put as soon as `ctypes` is imported.

Rejected: importing `ctypes` always, which takes longer than all the rest of install().
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from loomlet import _after_import, _core

__all__ = ["replace"]

FUNCTION = "PyThreadState_SetAsyncExc"
_done: list[ModuleType] = []  # where it was put


def replace() -> None:
    """From now on, or from the import of ctypes on, the function finds tasklets."""
    if not _done:
        _after_import.call("ctypes", _put_into)


def _put_into(ctypes: Any) -> None:
    """Made like the functions that ctypes looks up: the caller may give it types of arguments."""
    _done[:] = [ctypes]
    made = ctypes.pythonapi._FuncPtr(_core._raise_in_thread())
    made.__name__ = FUNCTION
    setattr(ctypes.pythonapi, FUNCTION, made)
