"""Threads of the system that take turns wake on one processor, and may leave it at once."""

import os
import threading
from collections.abc import Iterator

import pytest

import loomlet
from loomlet import _core

pytestmark = pytest.mark.skipif(not _core._can_hand_over(), reason="handoff needs 3.12 or later")


@pytest.fixture
def all_processors() -> Iterator[set[int]]:
    before = os.sched_getaffinity(0)
    yield before
    os.sched_setaffinity(0, before)


def in_turns(count: int) -> list[set[int]]:
    """Main and a new thread, again and again; the processors that each of them has."""
    found = []
    for _ in range(count):
        thread = threading.Thread(target=lambda: found.append(os.sched_getaffinity(0)))
        thread.start()
        thread.join()
        found.append(os.sched_getaffinity(0))
    return found


def test_each_turn_has_all_of_them(all_processors):
    """With handoff main runs in its own thread, and the other one elsewhere."""
    found = loomlet.run(in_turns, 100, handoff=True)
    assert found == [all_processors] * 200


def test_what_main_has_chosen_stays(all_processors):
    """Main confines itself; the turns of others do not change that."""
    one = {min(all_processors)}

    def main():
        os.sched_setaffinity(0, one)
        return in_turns(50)[1::2]

    assert loomlet.run(main, handoff=True) == [one] * 50
