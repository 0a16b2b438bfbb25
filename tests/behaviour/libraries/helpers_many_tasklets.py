"""Many tasklets that use one library at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import loomlet

MANY = 1000
SOME = 100  # where another test of the same server shows that a thousand can wait


class Gate:
    """A barrier: no tasklet continues before `count` have arrived."""

    def __init__(self, count: int) -> None:
        self._missing = count
        self._open = loomlet.Channel()

    def meet(self) -> None:
        """Waits for the others."""
        self._missing -= 1
        if self._missing:
            for _ in self._open:
                pass
        else:
            self._open.close()


def together(work: Callable[[int], Any], count: int) -> list[Any]:
    """What work(0) ... work(count - 1) return, each in a tasklet of its own."""
    with loomlet.timeout(300), loomlet.TaskGroup() as group:
        tasks = [group.spawn(work, number) for number in range(count)]
    return [task.result() for task in tasks]


def crowd(work: Callable[[int], Any], count: int = MANY) -> list[Any]:
    """The same in a run() of its own."""
    return loomlet.run(together, work, count)
