"""Who waits for a Condition has released its lock, and holds it again whatever ends the wait."""

import threading

import pytest

import loomlet
from loomlet import CancelScope, Condition, Lock, TaskletExit, schedule, spawn


def test_notified_in_order(mode):
    condition, log = Condition(), []

    def work(name):
        with condition:
            log.append((name, condition.wait()))

    tasks = [spawn(work, name) for name in range(4)]
    schedule()
    with condition:
        condition.notify()
    tasks[0].join()
    assert log == [(0, True)]
    with condition:
        condition.notify(2)
    tasks[2].join()
    with condition:
        condition.notify_all()
    tasks[3].join()
    assert log == [(name, True) for name in range(4)]


def test_the_lock_is_held_again(mode):
    """A notified tasklet goes on when the lock is free."""
    condition, log = Condition(), []

    def work():
        with condition:
            condition.wait()
            log.append("went on")

    task = spawn(work)
    schedule()
    with condition:
        condition.notify()
        schedule()
        log.append("in the block")
    task.join()
    assert log == ["in the block", "went on"]


def test_a_predicate(mode):
    condition, items = Condition(), []

    def work():
        with condition:
            return condition.wait_for(lambda: len(items) > 1 and items[-1])

    task = spawn(work)
    for item in "abc":
        schedule()
        with condition:
            items.append(item)
            condition.notify()
    assert task.result() in ("b", "c")


@pytest.mark.usefixtures("virtual")
def test_the_time_is_over(mode):
    condition = Condition()
    begin = loomlet.now()
    with condition:
        assert condition.wait(2) is False
        assert condition.wait_for(lambda: "", 3) == ""
        assert loomlet.now() == begin + 5
        condition.notify()  # nobody


@pytest.mark.usefixtures("virtual")
def test_notified_in_time(mode):
    """A tasklet that was notified waits for the lock as long as that takes."""
    condition = Condition()

    def work():
        with condition:
            return condition.wait(2), loomlet.now()

    begin = loomlet.now()
    task = spawn(work)
    schedule()
    with condition:
        condition.notify()
        loomlet.sleep(5)
    assert task.result() == (True, begin + 5)


def test_nobody_is_left_who_could_release_the_lock(mode):
    condition, never = Condition(), loomlet.Channel()

    def holds():
        with condition:
            never.receive()

    condition.acquire()
    task = spawn(holds)
    schedule()
    with pytest.raises(loomlet.Deadlock):
        condition.wait()
    assert condition._lock.locked()
    task.kill()


def ends_it(condition, log):
    with condition:
        try:
            condition.wait()
        finally:
            log.append(_held_by_me(condition))


def _held_by_me(condition):
    try:
        condition.notify(0)
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("error", [TaskletExit, ZeroDivisionError])
def test_an_exception(mode, error):
    """It leaves wait() with the lock held; the notification that it has not taken goes on."""
    condition, log = Condition(), []

    def first():
        with pytest.raises(error):
            ends_it(condition, log)

    tasks = [spawn(first), spawn(ends_it, condition, log)]
    schedule()
    with condition:
        condition.notify()
        tasks[0].throw(error)
    tasks[1].join()
    assert log == [True, True]


@pytest.mark.parametrize("released", [False, True])
def test_killed_when_it_was_notified(mode, released):
    """While it waits for the lock, and when it has just got that: the next one is notified."""
    condition, log = Condition(), []
    tasks = [spawn(ends_it, condition, log) for _ in range(2)]
    schedule()
    condition.acquire()
    condition.notify()
    if released:
        condition.release()
    tasks[0].throw(TaskletExit)
    if not released:
        condition.release()
    tasks[1].join()
    assert log == [True, True]
    assert tasks[0].state == "done"


def test_a_cancel(mode):
    """It does not wait for a notification any more."""
    condition, log, scope = Condition(), [], CancelScope()

    def first():
        with scope:
            ends_it(condition, log)

    tasks = [spawn(first), spawn(ends_it, condition, log)]
    schedule()
    scope.cancel()
    tasks[0].join()
    with condition:
        condition.notify()
    tasks[1].join()
    assert log == [True, True]
    assert scope.cancelled_caught


def test_a_wait_that_must_not_begin(mode):
    """In a scope that is cancelled already: it is, and the lock is held until its block ends."""
    condition, log = Condition(), []

    def waits():
        with CancelScope() as scope, condition:
            scope.cancel()
            try:
                condition.wait()
            finally:
                log.append(condition._depth == 1)
        log.append(scope.cancelled_caught)

    spawn(waits).join()
    assert log == [True, True]
    assert not condition._lock.locked()


def test_killed_while_it_takes_the_lock(mode):
    """The kill is raised when it has the lock."""
    condition, log = Condition(), []
    task = spawn(ends_it, condition, log)
    schedule()
    condition.acquire()
    condition.notify()
    schedule()
    assert task.state == "blocked"
    task.kill()
    assert log == []
    condition.release()
    schedule()
    assert log == [True]
    assert task.state == "done"
    assert not condition._lock.locked()


def test_a_lock_of_its_own_or_shared(mode):
    lock = Lock()
    empty, full = Condition(lock), Condition(lock)
    items, log = [], []

    def consume():
        for _ in range(3):
            with empty:
                empty.wait_for(lambda: items)
                log.append(items.pop())
                full.notify()

    def produce():
        for n in range(3):
            with full:
                full.wait_for(lambda: not items)
                items.append(n)
                empty.notify()

    for task in [spawn(consume), spawn(produce)]:
        task.join()
    assert log == [0, 1, 2]


def test_only_for_who_holds_the_lock(mode):
    condition = Condition()
    for method in (condition.wait, condition.notify, condition.notify_all):
        with pytest.raises(RuntimeError, match="does not hold its lock"):
            method()
    with condition:
        with pytest.raises(RuntimeError, match="does not hold its lock"):
            spawn(condition.notify).result()
    with pytest.raises(TypeError, match=r"expected a lock, which has acquire\(\), found 5"):
        Condition(5)


def test_between_threads():
    condition, items = Condition(), []

    def other():
        with condition:
            items.append("here")
            condition.notify()

    with condition:
        thread = threading.Thread(target=other)
        thread.start()
        assert condition.wait_for(lambda: items, 60) == ["here"]
    thread.join()
