"""Bringing tasklets to a known point: wait until all others wait, or force an order on them.

Both replace the sleep that a test would otherwise need "to let the others get there".
"""

from __future__ import annotations

from types import TracebackType

from loomlet import Channel, Tasklet, _core, current, schedule

__all__ = ["Sequencer", "wait_all_blocked"]


def wait_all_blocked() -> None:
    """Lets the other tasklets run, and returns when each of them is blocked or paused.

    For this thread's tasklets; sleeping ones count as blocked, so a virtual clock does not move
    here.  Does not return while two tasklets keep each other busy.  Raises Cancelled in a cancelled
    scope.
    """
    me = current()
    while any(_can_run(tasklet) for tasklet in _core.tasklets() if tasklet is not me):
        schedule()


def _can_run(tasklet: Tasklet) -> bool:
    return tasklet.state == "runnable"


class Sequencer:
    """Forces an order on blocks in different tasklets.

    `with sequencer(n):` waits until the block of every smaller number has ended; each number is
    used once, from 0 on.  If a waiting block is cancelled or killed, the blocks after it can never
    run:  they raise AssertionError.
    """

    __slots__ = ("_broken", "_taken", "_turns")

    def __init__(self) -> None:
        self._turns: dict[int, Channel] = {}
        self._taken: set[int] = set()
        self._broken = False

    def __call__(self, position: int) -> _Turn:
        """The context manager for a position; ValueError if the position was used before."""
        if position < 0 or position in self._taken:
            raise ValueError(
                f"expected a new position from 0 on, found {position!r}; use each one once"
            )
        self._taken.add(position)
        return _Turn(self, position)

    def _turn(self, position: int) -> Channel:
        return self._turns.setdefault(position, Channel(1))

    def _check(self) -> None:
        if self._broken:
            raise AssertionError(
                "a block before this one was cancelled or killed while it waited for its turn; "
                "end the test there"
            )

    def _wait_for(self, position: int) -> None:
        self._check()
        try:
            if position > 0:
                self._turn(position).receive()
        except BaseException:
            self._broken = True
            for turn in self._turns.values():
                turn.try_send(None)
            raise
        self._check()


class _Turn:
    # Frames of these methods stand in frozen bytes: their code changes only with the layout kept.
    __slots__ = ("_position", "_sequencer")

    def __init__(self, sequencer: Sequencer, position: int) -> None:
        self._sequencer = sequencer
        self._position = position

    def __enter__(self) -> None:
        self._sequencer._wait_for(self._position)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._sequencer._turn(self._position + 1).try_send(None)
