"""Condition and Barrier.

Condition.  The native base does the waiting, and its waiters hold the lock again however a wait
ends; wait_for() is written by means of it.

A condition of a lock that is none of ours, as one of `threading` or a program's own, is another
class, in Python: each waiter waits for a lock of its own, which notify() releases.  Whatever ends
wait(), the caller takes the other lock again: behind a shield, and once more if something is thrown
meanwhile, which is raised afterwards.  Only a deadlock is raised at once: then nobody is left who
could release the lock.

Barrier.  Each round is an object of its own with an event, so that those who come again for the
next round cannot be taken for those who have not left the last one.

Any thread.  Rejected for Condition: an event for each waiter, which is woken to take the lock: more
switches where notify() is called early in a block, and nothing of it native.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import BrokenBarrierError
from typing import Any, Self

from loomlet import _core
from loomlet._core import CancelScope, Event, Lock
from loomlet._own_methods import with_own_methods
from loomlet.errors import Deadlock

__all__ = ["Barrier", "Condition"]


@with_own_methods
class Condition(_core.Condition):
    """Condition(lock=None): waits until something that a lock protects has changed.

    `with condition:` takes the lock: a Lock or RLock, an RLock of its own if none is given; or any
    other lock that has acquire() and release(), as those of `threading`.
    """

    __slots__ = ()

    def __new__(cls, lock: Any = None) -> Self:
        """`lock`: what it is a condition of."""
        if lock is None or isinstance(lock, Lock):
            return super().__new__(cls, lock)
        for name in ("acquire", "release"):
            if not callable(getattr(lock, name, None)):
                raise TypeError(f"expected a lock, which has {name}(), found {lock!r}")
        if cls not in (Condition, _ConditionOfAnother):
            raise TypeError(f"expected a loomlet.Lock or RLock for {cls.__name__}, found {lock!r}")
        made: Any = super().__new__(_ConditionOfAnother)
        made.use(lock)
        condition: Self = made
        return condition

    def wait_for(self, predicate: Callable[[], object], timeout: float | None = None) -> object:
        """Waits until predicate() is true; returns what it gave, which is false when the time is
        over."""
        until = None if timeout is None else _core.now() + timeout
        while not (found := predicate()):
            left = None if until is None else until - _core.now()
            if left is not None and left <= 0:
                break
            self.wait(left)
        return found


class _ConditionOfAnother(Condition):
    """Condition of a lock that is none of ours; `_waiting`: those who wait, first come first."""

    __slots__ = ("_other", "_waiting")

    def use(self, lock: Any) -> None:
        """Called once, by the maker."""
        self._other = lock
        self._waiting: deque[Lock] = deque()

    @property
    def _lock(self) -> Any:
        return self._other

    def __enter__(self) -> bool:
        self._other.acquire()
        return True

    def __exit__(self, *exception: object) -> None:
        self._other.release()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Takes the lock, as its own acquire()."""
        taken: bool = self._other.acquire(blocking, timeout)
        return taken

    def release(self) -> None:
        """Releases the lock, as its own release()."""
        self._other.release()

    def locked(self) -> bool:
        """Whether the lock is held."""
        if not self._other.acquire(False):
            return True
        self._other.release()
        return False

    def notify(self, n: int = 1) -> None:
        """As Condition.notify()."""
        if not self._is_held():
            raise RuntimeError(f"cannot notify {self!r}: the tasklet does not hold its lock")
        for _ in range(min(n, len(self._waiting))):
            self._waiting.popleft().release()

    def notify_all(self) -> None:
        """As Condition.notify_all()."""
        self.notify(len(self._waiting))

    def wait(self, timeout: float | None = None) -> bool:
        """As Condition.wait()."""
        if not self._is_held():
            raise RuntimeError(f"cannot wait for {self!r}: the tasklet does not hold its lock")
        mine = Lock()
        mine.acquire()
        self._waiting.append(mine)
        state = self._give_up()
        try:
            mine.acquire(timeout=-1 if timeout is None else max(timeout, 0))
        except BaseException:
            self._take_back(state)
            if not self._leave(mine):
                self.notify()  # that was for the next one
            raise
        self._take_back(state)
        return not self._leave(mine)

    def _leave(self, mine: Lock) -> bool:
        """Whether it had to: nobody has notified this one."""
        if mine not in self._waiting:
            return False
        self._waiting.remove(mine)
        return True

    def _is_held(self) -> bool:
        owned = getattr(self._other, "_is_owned", None)
        return bool(owned()) if owned is not None else self.locked()

    def _give_up(self) -> Any:
        save = getattr(self._other, "_release_save", self._other.release)
        return save()

    def _take_back(self, state: Any) -> None:
        """Whatever happens meanwhile, which is raised afterwards."""
        restore = getattr(self._other, "_acquire_restore", None)
        thrown: BaseException | None = None
        taken = False
        while not taken:
            try:
                with CancelScope(shield=True):
                    if restore is not None:
                        restore(state)
                    else:
                        self._other.acquire()
                    taken = True
            except Deadlock:
                raise
            except BaseException as error:
                thrown = error
        if thrown is not None:
            raise thrown

    def __repr__(self) -> str:
        return (
            f"<loomlet.Condition at {id(self):#x} of {self._other!r} waiting={len(self._waiting)}>"
        )


class _Round:
    """Those who pass a barrier together."""

    __slots__ = ("broken", "count", "full")

    def __init__(self) -> None:
        self.full = Event()
        self.count = 0
        self.broken = False


class Barrier:
    """Barrier(parties, action=None, timeout=None): where a fixed number of tasklets meet.

    The last one to come calls `action`, if there is one, and then all go on.  `timeout`: the limit
    of each wait() that has none of its own.
    """

    __slots__ = ("__weakref__", "_action", "_guard", "_parties", "_round", "_timeout")

    def __init__(
        self,
        parties: int,
        action: Callable[[], object] | None = None,
        timeout: float | None = None,
    ) -> None:
        if parties < 1:
            raise ValueError(f"expected parties of at least 1, found {parties}")
        self._parties = parties
        self._action = action
        self._timeout = timeout
        self._guard = Lock()
        self._round = _Round()

    def wait(self, timeout: float | None = None) -> int:
        """Waits until `parties` tasklets wait; returns which of them this is, from 0 on.

        threading.BrokenBarrierError if the barrier is broken: because another one's time was over,
        it was cancelled or killed, the action failed, or somebody called abort() or reset().
        """
        with self._guard:
            mine = self._round
            self._check(mine)
            index = mine.count
            mine.count += 1
            if mine.count == self._parties:
                self._finish(mine)
                return index
        try:
            passed = mine.full.wait(self._timeout if timeout is None else timeout)
        except BaseException:
            self._break(mine)
            raise
        if not passed:
            self._break(mine)
        self._check(mine)
        return index

    def reset(self) -> None:
        """Empty again: those who wait get BrokenBarrierError."""
        old, self._round = self._round, _Round()
        self._break(old)

    def abort(self) -> None:
        """Breaks it: who waits, and who comes later, gets BrokenBarrierError."""
        self._break(self._round)

    @property
    def parties(self) -> int:
        """How many pass together."""
        return self._parties

    @property
    def n_waiting(self) -> int:
        """How many wait now."""
        return self._round.count

    @property
    def broken(self) -> bool:
        """Whether it is broken."""
        return self._round.broken

    def _finish(self, mine: _Round) -> None:
        try:
            if self._action is not None:
                self._action()
        except BaseException:
            self._break(mine)
            raise
        self._round = _Round()
        mine.full.set()

    def _break(self, mine: _Round) -> None:
        """Those who have passed already have passed."""
        if not mine.full.is_set():
            mine.broken = True
            mine.full.set()

    def _check(self, mine: _Round) -> None:
        if mine.broken:
            raise BrokenBarrierError(f"{self!r} is broken")

    def __repr__(self) -> str:
        state = "broken" if self.broken else f"{self.n_waiting} of {self._parties} wait"
        return f"<loomlet.Barrier at {id(self):#x} {state}>"
