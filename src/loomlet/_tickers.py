"""after, ticker: channels that time puts values into, for select().

A timer of the scheduler sends the time into a channel that keeps one value, so nobody has to
receive, and a slow receiver misses ticks instead of finding many of them late (as in Go).  The
timer belongs to the thread that made it, and is all that keeps an after() channel.  That of a
ticker refers to it weakly: one that is closed, or that nobody has any more, is not armed again.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from loomlet import _core

__all__ = ["Ticker", "after", "ticker"]


def after(seconds: float) -> _core.Channel[float]:
    """A channel that receives the time, as now(), once, `seconds` from now."""
    channel: _core.Channel[float] = _core.Channel(1)
    _core.Timer(lambda: channel.try_send(_core.now())).arm(_core.now() + seconds)
    return channel


class Ticker(_core.Channel[float]):
    """A channel that receives the time every `seconds`, until it is closed."""

    __slots__ = ("_due", "_seconds", "_timer")

    def __new__(cls, seconds: float) -> Ticker:
        self = super().__new__(cls, 1)
        if not seconds > 0:
            raise ValueError(f"expected more than 0 seconds, found {seconds!r}")
        return self

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._due = _core.now()
        self._timer = _core.Timer(_Tick(self))
        self._arm()

    def _arm(self) -> None:
        late = max(0.0, _core.now() - self._due)
        self._due += self._seconds * (1 + late // self._seconds)
        self._timer.arm(self._due)

    def __enter__(self) -> Ticker:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class _Tick:
    """What the timer calls."""

    __slots__ = ("_ticker",)

    def __init__(self, ticker: Ticker) -> None:
        self._ticker = ref(ticker)

    def __call__(self) -> Any:
        ticker = self._ticker()
        if ticker is not None and not ticker.closed:
            ticker.try_send(_core.now())
            ticker._arm()


def ticker(seconds: float) -> Ticker:
    """A channel that receives the time, as now(), every `seconds`, more than 0.

    It keeps one tick: who is slow misses the others.  close() ends it, as does leaving `with`.
    """
    return Ticker(seconds)
