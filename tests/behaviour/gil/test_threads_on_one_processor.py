"""Threads that share a processor hand over to each other: whoever is woken there runs in the place
of its waker, which still has the GIL."""

import os
import threading

import pytest

from loomlet import Channel
from loomlet.sync import Condition, Event, Lock, Queue

ROUNDS = 3000

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="the system does not bind threads to processors"
)


@pytest.fixture(autouse=True)
def one_processor():
    """This thread, and those that it starts, stay on one processor."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


def taking_turns(mine, others):
    """How the two sides went on: each calls its function ROUNDS times, in a thread of its own."""
    order = []

    def play(name, turn):
        for _ in range(ROUNDS):
            turn(lambda: order.append(name))

    thread = threading.Thread(target=play, args=("other", others))
    thread.start()
    play("mine", mine)
    thread.join()
    return order


def by_locks():
    """Two locks, each released by the side that the other waits for."""
    first, second = Lock(), Lock()
    second.acquire()

    def turn(wait, go_on):
        def take(step):
            wait.acquire()
            step()
            go_on.release()

        return take

    return turn(first, second), turn(second, first)


def by_conditions():
    """One condition, and whose turn it is."""
    condition, turns = Condition(), ["mine"]

    def turn(name, next_one):
        def take(step):
            with condition:
                condition.wait_for(lambda: turns == [name])
                step()
                turns[:] = [next_one]
                condition.notify()

        return take

    return turn("mine", "other"), turn("other", "mine")


def by_events():
    """An event for each side."""
    first, second = Event(), Event()
    first.set()

    def turn(wait, go_on):
        def take(step):
            wait.wait()
            wait.clear()
            step()
            go_on.set()

        return take

    return turn(first, second), turn(second, first)


def by_queues(kind, put, get):
    """A token that goes to and fro."""
    first, second = kind(), kind()

    def turn(take_from, put_into):
        def take(step):
            get(take_from)
            step()
            put(put_into, 1)

        return take

    put(first, 1)
    return turn(first, second), turn(second, first)


SIDES = {
    "locks": by_locks,
    "conditions": by_conditions,
    "events": by_events,
    "queues": lambda: by_queues(Queue, Queue.put, Queue.get),
    "channels": lambda: by_queues(lambda: Channel(1), Channel.send, Channel.receive),
}


@pytest.mark.parametrize("sides", SIDES.values(), ids=SIDES.keys())
def test_they_take_turns(sides):
    """Nobody is left behind, and nobody goes twice."""
    assert taking_turns(*sides()) == ["mine", "other"] * ROUNDS
