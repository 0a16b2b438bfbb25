"""What the tests with asyncio share: after each the loop is closed, and nothing of it is left."""

from __future__ import annotations

import asyncio
import gc
import time
import warnings
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import helpers_descriptors
import pytest

import loomlet
from loomlet import _core, aio


@pytest.fixture(autouse=True)
def nothing_is_left(failures: object) -> Iterator[None]:
    """Fails a test that leaves a descriptor, a running loop, or a ResourceWarning."""
    with helpers_descriptors.none_is_left() as before:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
            aio.close()
            for tasklet in _core.tasklets()[1:]:
                tasklet.kill()
            gc.collect()
        assert asyncio._get_running_loop() is None
        assert [w.message for w in caught if issubclass(w.category, ResourceWarning)] == []
        settle(before)


def settle(before: int) -> None:
    """Waits for the servers of tests: their threads close their ends when they come to it."""
    limit = time.monotonic() + 20
    while helpers_descriptors.open_descriptors() > before and time.monotonic() < limit:
        gc.collect()
        time.sleep(0.02)


class Steps:
    """A coroutine that says where it is, and waits until it is cancelled."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def wait(self) -> None:
        """Notes its start, how it was ended, and its own end, which takes a moment."""
        self.seen.append("begun")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.seen.append("cancelled")
            raise
        finally:
            await asyncio.sleep(0)
            self.seen.append("ended")

    def started(self) -> None:
        """Lets the loop run until the coroutine has begun."""
        while "begun" not in self.seen:
            loomlet.schedule()


@pytest.fixture
def steps() -> Steps:
    """A coroutine that waits for ever and logs what happens to it."""
    return Steps()


@pytest.fixture
def run_private() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """asyncio.run() with a loop of its own that waits as a tasklet."""

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=aio.EventLoop) as runner:
            return runner.run(coroutine)

    return run
