"""Each primitive keeps its promise: among threads, among tasklets, among both, in any run order.

A scene is some work and what must hold of it.  It is played with real threads, and by `explore` in
many run orders of tasklets while others give up, by a timeout or a kill, at any point.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections import Counter
from threading import BrokenBarrierError

import pytest
from helpers_workers import BOTH_KINDS, in_a_tasklet

import loomlet
from loomlet import schedule, spawn, sync
from loomlet.sync import (
    Barrier,
    BoundedSemaphore,
    Condition,
    CustomQueue,
    Event,
    Future,
    LifoQueue,
    Lock,
    PriorityQueue,
    Queue,
    RLock,
    RWLock,
    Semaphore,
    SimpleQueue,
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
    ends.append(disturb(lock.acquire, lock.release))
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
    ends.append(disturb(lock.acquire, lock.release))
    for end in ends:
        end()
    assert not lock.locked()


def side_by_side(begin, rounds, disturb):
    """A reader never sees half of what is written, and the lock is free in the end."""
    lock, pair = RWLock(), [0, 0]

    def write():
        for _ in range(rounds):
            with lock.writing:
                pair[0] += 1
                let_others_run()
                pair[1] += 1

    def read():
        for _ in range(rounds):
            with lock.reading:
                seen = pair[0]
                let_others_run()
                assert pair == [seen, seen]

    ends = [begin(write), begin(read), begin(write), begin(read)]
    ends.append(disturb(lock.writing.acquire, lock.writing.release))
    ends.append(disturb(lock.reading.acquire, lock.reading.release))
    for end in ends:
        end()
    assert pair == [2 * rounds] * 2
    assert lock.writing.acquire(timeout=0)


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
    ends.append(disturb(semaphore.acquire, semaphore.release))
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


def one_call_each(lock, begin, rounds, disturb):
    """For each thing that is put one is notified; who gives up passes that on."""
    condition, things, taken = Condition(lock()), [], []

    def put():
        for _ in range(2 * rounds):
            with condition:
                things.append(True)
                condition.notify()
            let_others_run()

    def take():
        for _ in range(rounds):
            with condition:
                condition.wait_for(lambda: things)
                taken.append(things.pop())

    def look():
        with condition:
            condition.wait_for(lambda: things)
            condition.notify()

    ends = [begin(take), begin(take), begin(put)]
    disturb(look, lambda: None)
    for end in ends:
        end()
    assert len(taken) == 2 * rounds


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


def not_together(begin, rounds, disturb):
    """A barrier that breaks lets everybody go, and nobody is taken for two."""
    barrier, passed, left = Barrier(3), [], []

    def come():
        try:
            passed.append(barrier.wait())
        except BrokenBarrierError:
            left.append(True)

    ends = [begin(come), begin(come)]
    disturb(come, lambda: None)
    schedule()
    barrier.abort()
    for end in ends:
        end()
    assert max(Counter(passed).values(), default=0) <= 2  # seven come at most: two rounds
    assert len(passed) + len(left) >= 2


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


def each_item_once(make, begin, rounds, disturb):
    """Each item that is put is got exactly once."""
    queue, found, all_found = make(), [], Event()

    def put(first):
        for item in range(first, first + rounds):
            queue.put(item)

    def get_one(put_back):
        if (item := queue.get()) == -1:
            put_back(item)  # it is for all that get
            return False
        found.append(item)
        if len(found) == 2 * rounds:
            all_found.set()
        return True

    def get():
        while get_one(queue.put):
            pass

    def get_and_be_killed():
        get_one(functools.partial(spawn, queue.put))

    ends = [begin(get), begin(put, 0), begin(put, rounds), begin(get)]
    disturb(get_and_be_killed, lambda: None)
    all_found.wait()
    queue.put(-1)
    for end in ends:
        end()
    assert sorted(found) == list(range(2 * rounds))


def queues(kind):
    """How to make one for any number of items, and one for a single item."""
    sizes = {"": 0} if kind is SimpleQueue else {"": 0, " of one": 1}
    return {
        f"{kind.__name__}{text}": functools.partial(
            each_item_once, kind if size == 0 else functools.partial(kind, size)
        )
        for text, size in sizes.items()
    }


SCENES = {
    "Lock": functools.partial(alone, Lock),
    "RLock": functools.partial(alone, RLock),
    "RLock again": again,
    "RWLock": functools.partial(alone, lambda: RWLock().writing),
    "RWLock of both sides": side_by_side,
    "Semaphore": functools.partial(so_many, Semaphore),
    "BoundedSemaphore": functools.partial(so_many, BoundedSemaphore),
    "Condition": functools.partial(a_place_for_one, Lock),
    "Condition of an RLock": functools.partial(a_place_for_one, RLock),
    "Condition of a lock of threading": functools.partial(a_place_for_one, threading.Lock),
    "Condition of one call": functools.partial(one_call_each, Lock),
    "Condition of one call and an RLock": functools.partial(one_call_each, RLock),
    "Condition of one call and a lock of threading": functools.partial(
        one_call_each, threading.Lock
    ),
    "Event": there_and_back,
    "Barrier": all_together,
    "Barrier that breaks": not_together,
    "Future": one_answer,
    **queues(Queue),
    **queues(LifoQueue),
    **queues(PriorityQueue),
    **queues(CustomQueue),
    **queues(SimpleQueue),
}

every_scene = pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)


@every_scene
@pytest.mark.parametrize("begin", BOTH_KINDS.values(), ids=BOTH_KINDS)
def test_between_threads_tasklets_and_both(scene, begin):
    scene(begin, 30, lambda take, give_back: lambda: None)


def give_up(take, give_back):
    """One waits no longer than it takes the others to come to a wait, others are killed early and
    late; what comes back waits until they have ended."""

    def work():
        if take():
            give_back()

    def work_for_a_moment():
        with loomlet.move_on_after(0.001):
            work()

    def kill(task, turns):
        for _ in range(turns):
            schedule()
        task.kill()

    waiters = [spawn(work) for _ in range(4)]
    for waiter, turns in zip(waiters, (0, 2, 5, 9), strict=True):
        spawn(kill, waiter, turns)
    waiters.append(spawn(work_for_a_moment))
    schedule()

    def end():
        for waiter in waiters:
            with contextlib.suppress(loomlet.TaskletKilled):
                waiter.join()

    return end


@every_scene
def test_in_any_run_order(scene):
    explore(lambda: scene(in_a_tasklet, 3, give_up), seeds=range(200))


def test_no_primitive_is_left_out():
    """A scene begins with the name of what it is about."""
    names = {name.split()[0] for name in SCENES}
    assert names == set(sync.__all__) - {"Empty", "Full", "ShutDown"}
