"""The progress of one freeze (Saving) and of one thaw (Loading).

Every reducer gets the Saving.  Builders are called by the unpickler, so they find the Loading in a
context variable, because what they call may switch to another tasklet; without one an ordinary
pickle is being loaded.  Both live for one call in one thread.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from types import FunctionType, MappingProxyType
from typing import Any

from loomlet.errors import FreezeWarning
from loomlet.snapshot import _code as codes

__all__ = ["CURRENT", "NUMBERED", "NUMBERS", "CodeMap", "Loading", "Namespace", "Saving"]

NUMBERED: list[Callable[..., Any]] = []
"""The builders that stand as numbers in the bytes; filled by the pickler."""
NUMBERS: dict[Callable[..., Any], int] = {}

CodeMap = Callable[[str, str], Any] | Mapping[Any, Any] | None


class Namespace:
    """The globals of a module that no other process can import, as far as functions use them."""

    __slots__ = ("__weakref__", "globals", "saved")

    def __init__(self, values: dict[str, Any]) -> None:
        self.globals = values
        self.saved: set[str] = set()


class Saving:
    """One freeze."""

    __slots__ = ("dropped", "modules", "namespaces", "partners", "shared", "snapshots")
    freezes = True

    def __init__(self, partners: bool = False, shared: list[Any] | None = None) -> None:
        self.partners = partners
        self.shared = shared
        """For a clone: the objects that both share; None: everything becomes bytes."""
        self.namespaces: dict[int, Namespace] = {}
        self.dropped: list[str] = []
        self.modules: dict[int, str | None] = {}
        """By id of a code object: the importable module of its function."""
        self.snapshots: dict[int, tuple[Any, Any]] = {}
        """By id: the tasklets met so far and their snapshots."""

    def namespace(self, values: dict[str, Any]) -> Namespace:
        """The one object that stands for these globals in this freeze."""
        found = self.namespaces.get(id(values))
        if found is None:
            found = self.namespaces[id(values)] = Namespace(values)
        return found

    def warn_of_dropped(self) -> None:
        """Warns of what was left out, at the line that called the caller of this."""
        if self.dropped:
            listed = ", ".join(sorted(set(self.dropped)))
            text = f"context variables that no module holds were left out: {listed}"
            warnings.warn(text, FreezeWarning, stacklevel=3)


class Loading:
    """One thaw.  Attributes that are rarely needed are created on first use."""

    code_map: CodeMap = None
    shared: Sequence[Any] = ()
    waiters: tuple[Any, ...] = ()
    """Tasklets that waited for a channel, in the order of its queue."""
    children: Mapping[int, tuple[Any, tuple[Any, ...]]] = MappingProxyType({})
    """By id: groups and their children."""
    filled: dict[int, Any] | None = None
    changed: dict[int, tuple[Any, str, str]] | None = None
    """By id: functions of another layout than the frozen one, with its name."""

    def __init__(self) -> None:
        self.pending: list[tuple[Any, Any]] = []
        """Tasklets and their packed snapshots, to be filled when everything else is loaded."""

    def first(self, value: Any) -> bool:
        """Whether an object is to be filled for the first time."""
        if self.filled is None:
            self.filled = {}
        if id(value) in self.filled:
            return False
        self.filled[id(value)] = value
        return True

    def mapped(self, module: str, qualname: str) -> FunctionType | None:
        """The function that the user's hook gives for a name, or None."""
        hook = self.code_map
        if hook is None:
            return None
        if callable(hook):
            found = hook(module, qualname)
        else:
            found = hook.get((module, qualname), hook.get(f"{module}.{qualname}"))
        if found is not None and not isinstance(found, FunctionType):
            raise TypeError(f"code_map gave {found!r} for {module}.{qualname}, not a function")
        return found

    def note(self, function: FunctionType, digest: bytes, module: str, qualname: str) -> None:
        """Remembers a function in which no frame of the frozen one can resume."""
        if not codes.same_layout(codes.digest(function.__code__), digest):
            self.changed = {**(self.changed or {}), id(function): (function, module, qualname)}


CURRENT: ContextVar[Loading | None] = ContextVar("loomlet_thaw", default=None)
"""The thaw that is running in this tasklet."""
