"""Event, Semaphore, Condition and Barrier in a frozen tasklet, held and waited for."""

import pytest
from helpers_frozen_tasklets import held, through

import loomlet
from loomlet import Barrier, Condition, Event, Semaphore, freeze, spawn, thaw
from loomlet.sync import RLock

pytestmark = pytest.mark.usefixtures("switches")


@pytest.mark.parametrize("is_set", [True, False])
def test_an_event_that_is_held(is_set):
    event = Event()
    if is_set:
        event.set()
    again = held(event)
    assert again.is_set() == is_set


def test_a_semaphore_that_is_held():
    semaphore = Semaphore(3, 4)
    semaphore.acquire()
    again = held(semaphore)
    assert (again.value, again.max_value) == (2, 4)


def test_waiting_for_an_event():
    def wait(event, log):
        log.append(event.wait())
        return log

    def end(event):
        loomlet.schedule()
        event.set()

    event = Event()
    waits, ends = through(spawn(wait, event, ["begin"]), spawn(end, event))
    assert waits.state == "blocked"
    ends.insert()
    assert waits.result() == ["begin", True]


def test_waiting_for_a_permit_with_a_limit():
    def wait(semaphore):
        return semaphore.acquire(timeout=0.01)

    (again,) = through(spawn(wait, Semaphore(0)))
    assert again.result() is False


def test_holding_a_permit():
    """It is given back to the semaphore that came along."""

    def body(semaphore):
        with semaphore:
            loomlet.schedule()
        return semaphore.value

    (again,) = through(spawn(body, Semaphore(1)))
    assert again.insert().result() == 1


def test_waiting_for_a_condition():
    def wait(condition, items):
        with condition:
            condition.wait_for(lambda: items)
            return items.pop()

    def give(condition, items):
        loomlet.schedule()
        with condition:
            items.append("item")
            condition.notify()

    condition, items = Condition(), []
    waits, gives = through(spawn(wait, condition, items), spawn(give, condition, items))
    gives.insert()
    assert waits.result() == "item"


def test_notified_and_waiting_for_the_lock():
    def wait(condition):
        with condition:
            return condition.wait()

    def notify(condition):
        loomlet.schedule()
        with condition:
            condition.notify()
            loomlet.schedule()

    condition = Condition()
    tasks = [spawn(wait, condition), spawn(notify, condition)]
    loomlet.schedule()
    waits, notifies = through(*tasks)
    assert waits.state == "blocked"
    notifies.insert()
    assert waits.result() is True


def test_waiting_at_a_barrier():
    def meet(barrier, pause):
        if pause:
            loomlet.schedule()
        return barrier.wait()

    barrier = Barrier(2)
    first, second = through(spawn(meet, barrier, False), spawn(meet, barrier, True))
    second.insert()
    assert sorted((first.result(), second.result())) == [0, 1]


def test_clones_share_them():
    def body(event):
        event.wait()
        return event

    event = Event()
    task = spawn(body, event)
    loomlet.schedule()
    copy = loomlet.clone(task)
    event.set()
    assert task.result() is copy.result() is event


def test_a_lock_that_its_holder_has_taken_twice():
    def work():
        lock = RLock()
        with lock, lock:
            loomlet.sleep(0)
            before = lock._depth
            lock.release()
            after = lock._depth
            lock.acquire()
        return before, after, lock.locked()

    task = spawn(work)
    loomlet.schedule()
    copy = thaw(freeze(task))
    copy.insert()
    assert copy.result() == (2, 1, False)
    assert task.result() == (2, 1, False)
