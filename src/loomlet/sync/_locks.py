"""RLock and BoundedSemaphore: what the native ones need to be those of `threading`."""

from __future__ import annotations

from typing import Self

from loomlet import _core
from loomlet._own_methods import with_own_methods

__all__ = ["BoundedSemaphore", "RLock"]


@with_own_methods
class RLock(_core.RLock):
    """RLock(): a lock that its holder may take again; it is free when it was released as often.

    The tasklet that has taken it holds it, in a plain thread the thread.  Only the holder can
    release it.  threading.Condition takes it, too.
    """

    __slots__ = ()

    def _recursion_count(self) -> int:
        return self._depth

    def _release_save(self) -> int:
        depth = self._depth
        self.release()
        for _ in range(1, depth):
            self.release()
        return depth

    def _acquire_restore(self, depth: int) -> None:
        for _ in range(depth):
            self.acquire()


@with_own_methods
class BoundedSemaphore(_core.Semaphore):
    """BoundedSemaphore(value=1): a Semaphore that never has more permits than at first.

    A release() too many raises ValueError.
    """

    __slots__ = ()

    def __new__(cls, value: int = 1) -> Self:
        """`value`: how many permits there are."""
        return super().__new__(cls, value, value)
