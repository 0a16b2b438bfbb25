"""Condition and Barrier.

Condition.  The native base waits: notify() moves a waiter from the queue of the condition into that
of the lock, so a wait that gives True holds the lock.  All other ends of a wait are handled here:
whatever ends wait(), the caller holds the lock again.  It is taken behind a shield, and again if
something is thrown meanwhile, which is raised afterwards.  Only a deadlock is raised at once: then
nobody is left who could release the lock.

Barrier.  Each round is an object of its own with an event, so that those who come again for the
next round cannot be taken for those who have not left the last one.

Any thread.  Rejected for Condition: an event for each waiter, which is woken to take the lock: more
switches where notify() is called early in a block, and nothing of it native.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import BrokenBarrierError

from loomlet import _core
from loomlet._core import CancelScope, Event, Lock
from loomlet.errors import Deadlock

__all__ = ["Barrier", "Condition"]


class Condition(_core.Condition):
    """Condition(lock=None): waits until something that a lock protects has changed.

    `with condition:` takes the lock: a loomlet.Lock or RLock, an RLock of its own if none is given.
    """

    __slots__ = ()

    def wait(self, timeout: float | None = None) -> bool:
        """Releases the lock, waits for a notification, and takes the lock again.

        Returns True, or False when none has come within `timeout` seconds.  RuntimeError if the
        calling tasklet does not hold the lock.
        """
        if not self._is_held():
            raise RuntimeError(f"cannot wait for {self!r}: the tasklet does not hold its lock")
        depth = self._depth
        try:
            if self._wait(timeout):
                return True
        except BaseException:
            self._take_again(depth)
            raise
        self._take_again(depth)
        return False

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

    def _take_again(self, depth: int) -> None:
        thrown: BaseException | None = None
        while not self._is_held():
            try:
                with CancelScope(shield=True):
                    self.acquire()
            except Deadlock:
                raise
            except BaseException as error:
                thrown = error
        for _ in range(1, depth):
            self.acquire()
        if thrown is not None:
            raise thrown


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
