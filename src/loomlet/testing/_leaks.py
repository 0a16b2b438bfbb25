"""What does a block leave behind: tasklets, objects, memory?

Counted before and after, each time after a full collection, with nothing allocated in between:
tasklets of this thread that have not ended, objects that the collector knows, blocks of Python's
allocator (which counts nothing under PYTHONMALLOC=malloc).  Work that is done for the first time
fills caches (imports, specialised bytecode, memory kept for the next tasklet), which is no leak.
So do it a few times before, and often enough inside the block that a leak of one block of memory
each time stands out.  The interpreter's own cache of attributes, which keeps names that C code
looks up, is emptied before each count.

Objects are compared type by type: fewer of one type do not hide more of another.

Rejected: holding on to the ids of all objects to tell old from new; addresses are reused, and a
million ids are themselves a leak to look at.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from types import TracebackType

from loomlet import _core, errors

__all__ = ["assert_no_leaks"]

_COLLECTIONS = 3
clear_caches = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache


class _Watch:
    __slots__ = ("_after", "_before", "_blocks", "_room", "_tasklets")

    def __init__(self, objects: int, blocks: int) -> None:
        self._room = (objects, blocks)
        self._before: Counter[str] = Counter()
        self._after: Counter[str] = Counter()
        self._tasklets: set[int] = set()
        self._blocks = 0

    def __enter__(self) -> None:
        self._tasklets.update(tasklet.id for tasklet in _core.tasklets())
        _count_types(Counter())  # what counting itself needs for the first time
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
            told = ", ".join(f"{count} {name}" for name, count in grown.most_common(8))
            raise AssertionError(f"{grown.total()} objects were left behind: {told}")
        if blocks > self._room[1]:
            raise AssertionError(f"{blocks} blocks of memory were left behind")

    def _check_tasklets(self) -> None:
        left = [tasklet for tasklet in _core.tasklets() if tasklet.id not in self._tasklets]
        if left:
            told = "".join(f"\n  {errors.describe(tasklet)}" for tasklet in left)
            raise AssertionError(f"{len(left)} tasklets were left behind:{told}")


def _settle() -> None:
    for _ in range(_COLLECTIONS):
        gc.collect()
    clear_caches()


def _count_types(into: Counter[str]) -> None:
    """Both counters exist at both times, so that neither counts the other as new."""
    into.update(type(thing).__qualname__ for thing in gc.get_objects())


def assert_no_leaks(objects: int = 0, blocks: int = 200) -> _Watch:
    """`with assert_no_leaks():` raises AssertionError when its block leaves something behind.

    A tasklet of this thread that has not ended; more than `objects` objects that the collector
    knows (the text names their types); more than `blocks` blocks of memory.  Do the same work a few
    times before, and more than `blocks` times inside.  An exception of the block passes, unchecked.
    """
    return _Watch(objects, blocks)
