"""Frame snapshots: compact in the bytes, complete for the core.

The core reads a frame as (owner, function, code, mapping, ip, offset, mask, values) and builds one
from such a tuple.  Nearly always the code is that of the function and the frame has no owner, so
only the rest is saved.  A frame whose function was replaced through `code_map` resumes only if the
layout of its code is the frozen one.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from loomlet import _core
from loomlet.errors import CodeChanged, ThawError
from loomlet.snapshot._progress import Loading, Saving

__all__ = ["pack_frame", "unpack_frame"]

WARM = 1000
"""Calls after which every version has specialized a call."""


def pack_frame(saving: Saving, frame: tuple[Any, ...]) -> tuple[Any, ...]:
    """(function, ip, offset, mask, *values); in unusual cases a tuple stands for the function."""
    owner, function, code, mapping, ip, offset, mask, values = frame
    same = function is not None and function.__code__ is code
    if same and owner is None and mapping is None:
        return (function, ip, offset, mask, *values)
    if not same and function is not None:
        saving.modules.setdefault(id(code), function.__globals__.get("__name__"))
    kept = None if same or function is None else code
    return ((owner, function, kept, mapping), ip, offset, mask, *values)


def unpack_frame(loading: Loading, packed: object) -> tuple[Any, ...]:
    """The snapshot that the core made."""
    if type(packed) is not tuple or len(packed) < 4:
        raise ThawError("expected the snapshot of a frame")
    head = packed[0]
    if type(head) is FunctionType and loading.changed is None:
        return (None, head, head.__code__, None, packed[1], packed[2], packed[3], packed[4:])
    owner, function, code, mapping = head if type(head) is tuple else (None, head, None, None)
    if loading.changed is not None and id(function) in loading.changed:
        raise _other_layout(function, *loading.changed[id(function)][1:])
    if function is None:
        meet_init_frame()
    elif code is None and isinstance(function, FunctionType):
        code = function.__code__
    return (owner, function, code, mapping, *packed[1:4], packed[4:])


class _Made:
    def __init__(self) -> None:
        self.known = _core._shim_learn()


def meet_init_frame() -> None:
    """Shows the core the frame that the interpreter puts below a specialized `__init__`."""
    for _ in range(WARM):
        if _Made().known:
            return


def _other_layout(function: Any, module: str, qualname: str) -> CodeChanged:
    return CodeChanged(
        f"{module}.{qualname}: a frozen frame of it cannot resume in {function!r}, "
        "whose code has another layout",
        module,
        qualname,
    )
