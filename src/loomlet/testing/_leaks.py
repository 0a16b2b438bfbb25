"""Leak checks: tasklets, objects and memory that a block leaves behind.

Counted before and after the block, each time after a full collection, with nothing allocated in
between: unfinished tasklets of this thread, objects that the garbage collector tracks, blocks of
Python's allocator (which counts nothing under PYTHONMALLOC=malloc).  Code that runs for the first
time fills caches (imports, specialized bytecode, memory kept for the next tasklet), which is not a
leak.  So run it a few times before, and often enough inside the block that a leak of one memory
block each time stands out.  The interpreter's own attribute cache, which keeps names that C code
looks up, is cleared before each count.

Objects are compared type by type: fewer of one type do not hide more of another.  Those of
coverage.py are not counted: it keeps some for each function that runs for the first time.

Rejected: keeping the ids of all objects to distinguish old from new; addresses are reused, and a
million ids distort the count themselves.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from types import TracebackType

from loomlet import _core, _waits

__all__ = ["assert_no_leaks"]

_COLLECTIONS = 3
clear_caches = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache


class _LeakCheck:
    __slots__ = ("_after", "_before", "_blocks", "_room", "_tasklets")

    def __init__(self, objects: int, blocks: int) -> None:
        self._room = (objects, blocks)
        self._before: Counter[str] = Counter()
        self._after: Counter[str] = Counter()
        self._tasklets: set[int] = set()
        self._blocks = 0

    def __enter__(self) -> None:
        self._tasklets.update(tasklet.id for tasklet in _core.tasklets())
        _count_types(Counter())  # counting itself fills caches the first time
        _settle()
        _count_types(self._before)
        _settle()
        self._blocks = sys.getallocatedblocks()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            return
        _settle()
        blocks = sys.getallocatedblocks() - self._blocks
        self._check_tasklets()
        _count_types(self._after)
        grown = self._after - self._before
        if grown.total() > self._room[0]:
            types = ", ".join(f"{count} {name}" for name, count in grown.most_common(8))
            raise AssertionError(f"{grown.total()} objects were left behind: {types}")
        if blocks > self._room[1]:
            raise AssertionError(f"{blocks} blocks of memory were left behind")

    def _check_tasklets(self) -> None:
        left = [tasklet for tasklet in _core.tasklets() if tasklet.id not in self._tasklets]
        if left:
            waits = "".join(f"\n  {_waits.describe(tasklet)}" for tasklet in left)
            raise AssertionError(f"{len(left)} tasklets were left behind:{waits}")


def _settle() -> None:
    for _ in range(_COLLECTIONS):
        gc.collect()
    clear_caches()


def _count_types(into: Counter[str]) -> None:
    """Both counters exist at both times, so that neither counts the other as new."""
    kinds = map(type, gc.get_objects())
    into.update(kind.__qualname__ for kind in kinds if not _is_of_coverage(kind))


def _is_of_coverage(kind: type) -> bool:
    return str(kind.__module__).partition(".")[0] == "coverage"


def assert_no_leaks(objects: int = 0, blocks: int = 200) -> _LeakCheck:
    """`with assert_no_leaks():` raises AssertionError when its block leaves something behind.

    That is an unfinished tasklet of this thread; more than `objects` objects that the collector
    tracks (the text names their types); more than `blocks` blocks of memory.  Run the same code a
    few times before, and more than `blocks` times inside.  An exception of the block propagates
    without a check.
    """
    return _LeakCheck(objects, blocks)
