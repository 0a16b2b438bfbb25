"""What one freeze and one thaw keep in mind while they run.

`Saving` goes to every reducer.  `Loading` is a context variable, for builders are called by the
unpickler, and what they call may switch to another tasklet; without one an ordinary pickle is being
read.  Both live for one call in one thread.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from types import FunctionType, MappingProxyType
from typing import Any

from loomlet.errors import FreezeWarning
from loomlet.snapshot import _code as codes

__all__ = ["CURRENT", "PLACES", "WORDS", "CodeMap", "Loading", "Namespace", "Saving"]

WORDS: list[Callable[..., Any]] = []
"""The builders that have a number in the bytes; filled by the pickler."""
PLACES: dict[Callable[..., Any], int] = {}

CodeMap = Callable[[str, str], Any] | Mapping[Any, Any] | None


class Namespace:
    """The globals of a module that no other process can import: the names that were needed."""

    __slots__ = ("__weakref__", "globals", "saved")

    def __init__(self, values: dict[str, Any]) -> None:
        self.globals = values
        self.saved: set[str] = set()


class Saving:
    """One freeze."""

    __slots__ = ("dropped", "homes", "namespaces", "partners", "records", "shared")

    def __init__(self, partners: bool = False, shared: list[Any] | None = None) -> None:
        self.partners = partners
        self.shared = shared
        """Of a clone: what both have in common; None: everything becomes bytes."""
        self.namespaces: dict[int, Namespace] = {}
        self.dropped: list[str] = []
        self.homes: dict[int, str | None] = {}
        """By id of a code object: the importable module in which its function lives."""
        self.records: dict[int, tuple[Any, Any]] = {}
        """By id: the tasklets met so far and their records."""

    def namespace(self, values: dict[str, Any]) -> Namespace:
        """The one object that stands for these globals in this freeze."""
        found = self.namespaces.get(id(values))
        if found is None:
            found = self.namespaces[id(values)] = Namespace(values)
        return found

    def tell_dropped(self) -> None:
        """Warns, where the function that calls this was called, of what was left out."""
        if self.dropped:
            listed = ", ".join(sorted(set(self.dropped)))
            text = f"context variables that no module holds were left out: {listed}"
            warnings.warn(text, FreezeWarning, stacklevel=3)


class Loading:
    """One thaw.  What is rarely needed is made on first use."""

    code_map: CodeMap = None
    shared: Sequence[Any] = ()
    waiters: tuple[Any, ...] = ()
    """Those that waited for a channel, in the order of its queue."""
    children: Mapping[int, tuple[Any, tuple[Any, ...]]] = MappingProxyType({})
    """By id: groups and their children."""
    filled: dict[int, Any] | None = None
    changed: dict[int, tuple[Any, str, str]] | None = None
    """By id: functions of another layout than the frozen one, with its name."""

    def __init__(self) -> None:
        self.pending: list[tuple[Any, Any]] = []
        """Tasklets and their records, to be filled when all the rest is there."""

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

    def note(self, function: FunctionType, mark: bytes, module: str, qualname: str) -> None:
        """Remembers a function in which no frame of the frozen one can go on."""
        if not codes.same_layout(codes.digest(function.__code__), mark):
            self.changed = {**(self.changed or {}), id(function): (function, module, qualname)}


CURRENT: ContextVar[Loading | None] = ContextVar("loomlet_thaw", default=None)
"""The thaw that runs in this tasklet."""
