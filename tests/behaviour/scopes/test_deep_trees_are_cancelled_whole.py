"""However deep and broad a tree of groups is, one cancel reaches all of it."""

import pytest

import loomlet
from loomlet import CancelScope, Channel, TaskGroup
from loomlet.testing import wait_all_blocked


def test_a_deep_one():
    """Two thousand groups inside each other: no recursion, no group missed."""
    ended = []

    def nest(depth):
        try:
            if depth == 0:
                Channel().receive()
            with TaskGroup() as group:
                group.spawn(nest, depth - 1)
        finally:
            ended.append(depth)

    with CancelScope() as scope:
        with TaskGroup() as group:
            group.spawn(nest, 2000)
            wait_all_blocked()
            scope.cancel()
    assert scope.cancelled_caught
    assert sorted(ended) == list(range(2001))


def test_a_broad_one():
    """Ten thousand children, all waiting."""
    ended = []

    def child():
        try:
            Channel().receive()
        finally:
            ended.append(1)

    with pytest.raises(ExceptionGroup), TaskGroup() as group:
        for _ in range(10_000):
            group.spawn(child)
        loomlet.schedule()
        raise ValueError
    assert len(ended) == 10_000


def test_siblings_are_not_cancelled(clock):
    """An inner scope that expires concerns its own block, not the other children of its group."""
    log = []

    def child(seconds):
        with pytest.raises(TimeoutError), loomlet.timeout(seconds):
            loomlet.sleep(100)
        log.append(seconds)

    with TaskGroup() as group:
        for seconds in (3, 1, 2):
            group.spawn(child, seconds)
        with pytest.raises(TimeoutError), loomlet.timeout(1.5):
            loomlet.sleep(100)
        log.append("body")
    assert log == [1, "body", 2, 3]
