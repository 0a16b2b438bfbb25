"""What the tests of one kind of C caller share: the ways in which a call through it can end."""

from __future__ import annotations

import gc
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import loomlet
from loomlet import Channel, _core
from loomlet.testing import assert_no_leaks

Body = Callable[[Channel], Any]


class Ends:
    """Runs a body that receives once through the C caller and returns what it received."""

    def __init__(self, failures: list[Any]) -> None:
        self.failures = failures

    def suspended(self, body: Body) -> tuple[Channel, loomlet.Tasklet]:
        """The tasklet that waits in the body, and its channel."""
        ch = Channel()
        task = loomlet.spawn(body, ch)
        loomlet.schedule()
        assert task.state == "blocked"
        return ch, task

    def value(self, body: Body) -> Any:
        """What the body makes of 5."""
        ch, task = self.suspended(body)
        ch.send(5)
        return task.result()

    def stays_soft(self, body: Body, rounds: int, switches: Any) -> None:
        """Each of so many calls suspends once, without a C stack, and gives its value."""
        for _ in range(rounds):
            switches.take()
            assert self.value(body) == 5
            assert switches.take() == (1, 0)

    def freezes(self, body: Body) -> None:
        """The tasklet that waits in the body is frozen; it and what is thawed go on alone."""
        ch, task = self.suspended(body)
        again = loomlet.thaw(loomlet.freeze(task))
        ch.send(5)
        assert task.result() == 5
        again.waiting_for.send(7)
        assert again.result() == 7

    def thrown(self, body: Body) -> list[str]:
        """The functions in the traceback of an exception that was thrown into the body."""
        _, task = self.suspended(body)
        task.throw(KeyError("thrown"))
        with pytest.raises(KeyError, match="thrown") as caught:
            task.result()
        self.failures[:] = [pair for pair in self.failures if pair[0] is not task]
        frames = traceback.extract_tb(caught.value.__traceback__)
        assert all(frame.line for frame in frames)
        return [frame.name for frame in frames if frame.filename != __file__]

    def killed(self, body: Body) -> None:
        """The tasklet is killed."""
        self.suspended(body)[1].kill()

    def forgotten(self, body: Body) -> None:
        """Only a cycle through the frames of the tasklet keeps it."""
        ch = Channel()
        cycle: list[Any] = [ch]

        def own(ch: Channel) -> Any:
            return body(ch), cycle

        cycle.append(loomlet.spawn(own, ch))
        loomlet.schedule()
        assert cycle[1].state == "blocked"

    def leave_nothing(self, body: Body, *watched: object, soft: bool = True) -> None:
        """After many calls that end in every way the watched objects are as before.

        soft: the body is suspended softly where that is on.  Then a forgotten tasklet is collected
        too, which is not promised of others.
        """
        soft = soft and _core.soft() and "switch" not in os.environ.get("LOOMLET_TORTURE", "")

        def rounds(count: int) -> None:
            for _ in range(count):
                self.value(body)
                self.thrown(body)
                self.killed(body)
                if soft:
                    self.forgotten(body)
            for _ in range(3):
                gc.collect()
                loomlet.schedule()

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "tasklet .* was collected while blocked")
            rounds(60)
            with assert_no_leaks(blocks=40):  # it empties caches that hold names
                before = tuple(map(sys.getrefcount, watched))
                rounds(150)
        assert tuple(map(sys.getrefcount, watched)) == before


@pytest.fixture
def ends(failures: list[Any]) -> Ends:
    """The ways in which a body that waits can end."""
    return Ends(failures)
