"""The descriptors of this process, and a guard against one that a test leaves open."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import loomlet
from loomlet import net, observe


def open_descriptors() -> int:
    """How many this process has open."""
    return len(os.listdir("/proc/self/fd"))


def wait_for_something() -> None:
    """Makes the thread's poller and the door of the process, which stay."""
    observe.serve()
    one, other = net.pair()
    with one, other:
        task = loomlet.spawn(one.receive_some)
        loomlet.schedule()
        other.send_all(b"x")
        assert task.result() == b"x"


@contextlib.contextmanager
def none_is_left() -> Iterator[int]:
    """Fails a block after which one is open that was not before; gives how many were."""
    wait_for_something()
    before = open_descriptors()
    yield before
    assert open_descriptors() == before
