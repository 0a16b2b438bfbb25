"""What the tests of the pool share: functions that wait for a signal, and no leftover thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

import loomlet
from loomlet import blocking

Until = Callable[[Callable[[], object]], None]


def wait_until(condition: Callable[[], object]) -> None:
    """Polls every millisecond, and fails the test after ten seconds."""
    for _ in range(10_000):
        if condition():
            return
        time.sleep(0.001)
    pytest.fail("the condition did not become true")


@pytest.fixture
def until() -> Until:
    """Waits until a thread has done something."""
    return wait_until


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Fails a test that leaves a function running; the next test finds an empty pool."""
    yield
    before = blocking.configure(max_threads=1000, idle_seconds=0, exit_seconds=300)
    wait_until(lambda: blocking.threads().all == 0)
    blocking.configure(max_threads=1000, idle_seconds=10)
    assert before.max_threads == 1000, "the test has left its own limits"


class Gate:
    """wait() is a function that runs until open()."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self.inside = 0
        self.most = 0
        self.left = 0

    def wait(self, result: object = None) -> object:
        """Returns `result`."""
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self._event.wait()
        with self._lock:
            self.inside -= 1
            self.left += 1
        return result

    def fail(self, *args: object) -> None:
        """Raises a LookupError of these."""
        self.wait()
        raise LookupError(*args)

    def open(self) -> None:
        """Lets all waiters continue, now and later."""
        self._event.set()


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Opened at the end of the test."""
    gate = Gate()
    yield gate
    gate.open()


@pytest.fixture
def begun(gate: Gate) -> Callable[..., loomlet.Tasklet]:
    """begun(result) spawns a tasklet that waits for a function that waits for the gate."""

    def begin(*args: object, function: Callable[..., object] = gate.wait) -> loomlet.Tasklet:
        count = gate.inside + 1
        task = loomlet.spawn(lambda: loomlet.run_blocking(function, *args))
        loomlet.schedule()
        wait_until(lambda: gate.inside == count)
        return task

    return begin
