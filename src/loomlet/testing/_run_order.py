"""Random run orders that can be repeated.

With a seed, the scheduler picks the next tasklet at random among the runnable ones, and checks
timers before each pick.  The same program with the same seed runs the same way, so an order that
breaks it is a number in a bug report.

explore() is a small substitute for a model checker: it does not enumerate all orders, it samples
many.  For a handful of tasklets with a handful of switches each, a few hundred seeds cover nearly
all.

Rejected: enumerating the choices depth first.  It needs a deterministic program (no select, no set
of strings), and grows factorially, while seeds find most orders early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType

from loomlet import _core
from loomlet._runtime import run_whatever_is_late
from loomlet.testing._clock import virtual_clock

__all__ = ["explore", "seeded"]


class _Seeded:
    __slots__ = ("_before", "_seed")

    def __init__(self, seed: int) -> None:
        if seed < 0:
            raise ValueError(f"expected a seed of 0 or more, found {seed!r}")
        self._seed = seed
        self._before = 0

    def __enter__(self) -> None:
        self._before = _core._seed(self._seed)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _core._seed(self._before)


def seeded(n: int) -> _Seeded:
    """`with seeded(n):` runs the calling thread's tasklets in a random order made from `n`.

    The same n gives the same order.  0 is the ordinary order, first in, first out.  When the block
    ends the old order is restored.  ValueError for a negative number.
    """
    return _Seeded(n)


def explore(test: Callable[[], object], seeds: Iterable[int] = range(100)) -> None:
    """Runs test() once for each seed, each time in a loomlet.run() with a virtual clock of its own.

    The first failure is raised unchanged, with a note that names the seed; `seeds=[that one]` runs
    it again.  ValueError without seeds.  Outside loomlet.run() only.
    """
    ran = 0
    for seed in seeds:
        ran += 1
        try:
            with virtual_clock(), seeded(seed):
                run_whatever_is_late(test)  # which have begun is chance
        except BaseException as error:
            error.add_note(f"explore: failed with seed {seed}; run it again with seeds=[{seed}]")
            raise
    if not ran:
        raise ValueError("expected at least one seed, found none: nothing was tested")
