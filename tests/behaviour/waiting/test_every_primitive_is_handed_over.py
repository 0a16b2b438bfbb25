"""Each primitive keeps its promise: among threads, among tasklets, among both, in any run order.

A scene is some work and what must hold of it.  It is played with real threads, and by `explore` in
many run orders of tasklets while others give up, by a timeout or a kill, at any point.
"""

from __future__ import annotations

import functools
import time
from collections import Counter

import pytest
from helpers_workers import BOTH_KINDS, in_a_tasklet

import loomlet
from loomlet import schedule, spawn
from loomlet.sync import (
    Barrier,
    BoundedSemaphore,
    Condition,
    Event,
    Future,
    Lock,
    RLock,
    RWLock,
    Semaphore,
)
from loomlet.testing import explore


def let_others_run():
    """Tasklets, and threads, which would else have ended before the next one begins."""
    schedule()
    time.sleep(1e-6)


def alone(make, begin, rounds, disturb):
    """One at a time: no update is lost."""
    lock, counter = make(), [0]

    def work():
        for _ in range(rounds):
            with lock:
                seen = counter[0]
                let_others_run()
                counter[0] = seen + 1

    ends = [begin(work) for _ in range(4)]
    disturb(lock.acquire, lock.release)
    for end in ends:
        end()
    assert counter == [4 * rounds]
    assert lock.acquire(timeout=0)


def again(begin, rounds, disturb):
    """An RLock is free when it was released as often as it was taken."""
    lock, depth = RLock(), [0]

    def work():
        for _ in range(rounds):
            with lock, lock:
                depth[0] += 1
                let_others_run()
                assert depth == [1]
                depth[0] -= 1

    ends = [begin(work) for _ in range(3)]
    disturb(lock.acquire, lock.release)
    for end in ends:
        end()
    assert not lock.locked()


def so_many(make, begin, rounds, disturb):
    """No more than two are inside, and no permit is lost."""
    semaphore, inside, guard = make(2), Counter(), Lock()

    def work(name):
        for _ in range(rounds):
            with semaphore:
                with guard:
                    inside[name] += 1
                    assert inside.total() <= 2
                let_others_run()
                with guard:
                    inside[name] -= 1

    ends = [begin(work, name) for name in range(4)]
    disturb(semaphore.acquire, semaphore.release)
    for end in ends:
        end()
    assert semaphore.value == 2


def a_place_for_one(lock, begin, rounds, disturb):
    """What is put under a condition is taken once, in order, and nobody sleeps through a notify."""
    condition, place, taken = Condition(lock()), [], []

    def put():
        for item in range(rounds):
            with condition:
                condition.wait_for(lambda: not place)
                place.append(item)
                condition.notify_all()

    def take():
        for _ in range(rounds):
            with condition:
                condition.wait_for(lambda: place)
                taken.append(place.pop())
                condition.notify_all()

    def look():
        with condition:
            condition.wait()

    ends = [begin(put), begin(take)]
    disturb(look, lambda: None)
    for end in ends:
        end()
    assert taken == list(range(rounds))


def there_and_back(begin, rounds, disturb):
    """Who waits for an event sees each `set()` of it."""
    there, back, log = Event(), Event(), []

    def first():
        for step in range(rounds):
            log.append(step)
            there.set()
            back.wait()
            back.clear()

    def second():
        for step in range(rounds):
            there.wait()
            there.clear()
            log.append(step)
            back.set()

    ends = [begin(first), begin(second)]
    disturb(Event().wait, lambda: None)
    for end in ends:
        end()
    assert log == sorted([*range(rounds)] * 2)


def all_together(begin, rounds, disturb):
    """Nobody is a round ahead of another."""
    barrier, at = Barrier(3), [0, 0, 0]

    def work(name):
        for step in range(rounds):
            at[name] = step
            barrier.wait()
            assert set(at) <= {step, step + 1}
            barrier.wait()

    ends = [begin(work, name) for name in range(3)]
    for end in ends:
        end()
    assert at == [rounds - 1] * 3


def one_answer(begin, rounds, disturb):
    """All get what was set, whenever they ask."""
    futures, seen = [Future() for _ in range(rounds)], []

    def ask():
        seen.append([future.result() for future in futures])

    def answer():
        for number, future in enumerate(futures):
            future.set_result(number)

    ends = [begin(ask), begin(ask), begin(answer), begin(ask)]
    disturb(futures[-1].result, lambda: None)
    for end in ends:
        end()
    assert seen == [list(range(rounds))] * 3


SCENES = {
    "Lock": functools.partial(alone, Lock),
    "RLock": functools.partial(alone, RLock),
    "RLock again": again,
    "RWLock": functools.partial(alone, lambda: RWLock().writing),
    "Semaphore": functools.partial(so_many, Semaphore),
    "BoundedSemaphore": functools.partial(so_many, BoundedSemaphore),
    "Condition": functools.partial(a_place_for_one, Lock),
    "Condition of an RLock": functools.partial(a_place_for_one, RLock),
    "Event": there_and_back,
    "Barrier": all_together,
    "Future": one_answer,
}

every_scene = pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)


@every_scene
@pytest.mark.parametrize("begin", BOTH_KINDS.values(), ids=BOTH_KINDS)
def test_between_threads_tasklets_and_both(scene, begin):
    scene(begin, 30, lambda take, give_back: None)


def give_up(take, give_back):
    """One waits no longer than it takes the others to come to a wait, another one is killed."""

    def work():
        if take():
            give_back()

    def work_for_a_moment():
        with loomlet.move_on_after(0.001):
            work()

    spawn(work_for_a_moment)
    killed = spawn(work)
    schedule()
    killed.kill()


@every_scene
def test_in_any_run_order(scene):
    explore(lambda: scene(in_a_tasklet, 3, give_up), seeds=range(40))
