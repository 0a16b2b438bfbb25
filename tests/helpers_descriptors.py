"""The descriptors of this process, and a guard against one that a test leaves open."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

import loomlet
from loomlet import _core, net, observe


def open_descriptors() -> int:
    """How many this process has open."""
    return len(os.listdir("/proc/self/fd"))


def wait_for_something() -> None:
    """Makes the thread's poller and the debug socket of the process, which stay."""
    observe.serve()
    one, other = net.pair()
    with one, other:
        task = loomlet.spawn(one.receive_some)
        loomlet.schedule()
        other.send_all(b"x")
        assert task.result() == b"x"


def wait_for_lookups() -> None:
    """Waits until abandoned lookups have ended: they read files and send no event at their end."""
    while _core._resolver_threads():
        time.sleep(0.001)


@contextlib.contextmanager
def none_is_left() -> Iterator[int]:
    """Fails a block after which one is open that was not before; gives how many were."""
    wait_for_something()
    wait_for_lookups()
    before = open_descriptors()
    yield before
    wait_for_lookups()
    assert open_descriptors() == before
