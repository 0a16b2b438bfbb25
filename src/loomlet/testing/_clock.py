"""A virtual clock: it stands still while a tasklet can run, and jumps when none can.

Under a virtual clock the scheduler does not sleep: when no tasklet is runnable, the time becomes
that of the next timer.  So a program sees exact times, a test of an hour takes no time, and the
order of events depends only on the program.

Invariant: the time never goes back while the clock is used; when the `with` ends, the old clock is
restored.  Timers set under one clock are meaningless under another: begin the clock before the
tasklets and end it after them.

Rejected: replacing time.time() and similar functions for the whole process; time would stand still
for code outside loomlet.
"""

from __future__ import annotations

from types import TracebackType

from loomlet import _core

__all__ = ["VirtualClock", "virtual_clock"]


class VirtualClock:
    """The calling thread's clock during `with virtual_clock()`; created by that function."""

    __slots__ = ("_before", "_start")

    def __init__(self, start: float) -> None:
        if not start >= 0:
            raise ValueError(f"expected a start of 0 or more seconds, found {start!r}")
        self._start = start
        self._before: float | None = None

    def __enter__(self) -> VirtualClock:
        self._before = _core._virtual_clock(self._start)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _core._virtual_clock(self._before)

    @property
    def now(self) -> float:
        """The time in seconds, as loomlet.now() gives it."""
        return _core.now()

    def advance(self, seconds: float) -> None:
        """Advances the time at once, as a long computation would.

        Timers that are due then fire at the next switch.  ValueError for a negative number.
        """
        if not seconds >= 0:
            raise ValueError(f"expected 0 or more seconds, found {seconds!r}")
        _core._virtual_clock(_core.now() + seconds)


def virtual_clock(start: float = 0.0) -> VirtualClock:
    """`with virtual_clock() as clock:` gives the calling thread a virtual clock.

    It begins at `start` seconds and jumps to the next timer when no tasklet can run.  Use it around
    loomlet.run(), or inside before the first tasklet is spawned.  ValueError for a negative start.
    """
    return VirtualClock(start)
