"""What a tasklet holds that a program has made by the names of `threading` and `queue`."""

import queue
import threading

import pytest
from helpers_frozen_tasklets import held

from loomlet import _core, patch

pytestmark = pytest.mark.skipif(not _core.SOFT_SUPPORTED, reason="needs CPython 3.12 or later")


@pytest.fixture(autouse=True)
def replaced():
    """The names of `threading` and `queue` are ours."""
    patch.install(sync=True)
    yield
    patch.uninstall()


@pytest.mark.parametrize(("name", "first"), [("Queue", 1), ("LifoQueue", 2), ("SimpleQueue", 1)])
def test_a_queue(name, first):
    kind = getattr(queue, name)
    items = kind()
    items.put(1)
    items.put(2)
    again = held(items)
    assert (type(again), again.get(), again.qsize()) == (kind, first, 1)


@pytest.mark.parametrize("name", ["Lock", "RLock", "Condition", "Event", "Semaphore", "Barrier"])
def test_the_others(name):
    kind = getattr(threading, name)
    made = kind(2) if name in ("Semaphore", "Barrier") else kind()
    again = held(made)
    assert type(again) is kind


def test_what_they_say():
    event, bounded = threading.Event(), threading.BoundedSemaphore(3)
    event.set()
    event.name = "over"
    bounded.acquire()
    event, bounded = held([event, bounded])
    assert (event.is_set(), event.name, bounded._value, bounded._initial_value) == (
        True,
        "over",
        2,
        3,
    )
