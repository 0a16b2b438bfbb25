"""A Semaphore gives its permits in the order in which tasklets come, and never more than it has."""

import threading

import pytest

import loomlet
from loomlet import CancelScope, Deadlock, Semaphore, TaskletExit, schedule, spawn


@pytest.mark.parametrize("permits", [1, 3])
def test_so_many_at_once(mode, permits):
    semaphore, inside, most = Semaphore(permits), [], []

    def work(name):
        with semaphore as taken:
            assert taken is True
            inside.append(name)
            most.append(len(inside))
            schedule()
            inside.remove(name)

    for task in [spawn(work, name) for name in range(10)]:
        task.join()
    assert max(most) == permits
    assert semaphore.value == permits


def test_first_come_first_served(mode):
    """Nobody overtakes those that wait, not even between a release and their turn."""
    semaphore, order = Semaphore(0), []

    def work(name):
        semaphore.acquire()
        order.append(name)

    tasks = [spawn(work, name) for name in range(6)]
    schedule()
    semaphore.release(2)
    assert not semaphore.acquire(blocking=False)
    semaphore.release(n=5)
    assert semaphore.value == 1
    for task in tasks:
        task.join()
    assert order == list(range(6))


@pytest.mark.usefixtures("virtual")
def test_the_time_is_over(mode):
    semaphore = Semaphore(0)
    begin = loomlet.now()
    assert not semaphore.acquire(timeout=3)
    assert loomlet.now() == begin + 3
    assert not semaphore.acquire(False)
    assert semaphore.value == 0


@pytest.mark.parametrize("left", [-1, -1.0, -1e-9, -0.5, -2, float("-inf")])
def test_the_time_was_over_before(mode, left):
    """As in threading: what is left until a deadline may be less than nothing.  For a lock only -1
    is no limit."""
    semaphore = Semaphore(1)
    assert semaphore.acquire(timeout=left)
    assert not semaphore.acquire(True, left)
    with pytest.raises(ValueError, match="non-blocking"):
        semaphore.acquire(False, left)
    assert semaphore.value == 0


@pytest.mark.parametrize("end", ["kill", "throw"])
def test_a_permit_that_is_not_taken_goes_on(mode, end):
    """It was handed to a tasklet that raises instead."""
    semaphore, log = Semaphore(0), []

    def first():
        with pytest.raises((TaskletExit, ZeroDivisionError)):
            semaphore.acquire()

    tasks = [spawn(first), spawn(lambda: log.append(semaphore.acquire()))]
    schedule()
    semaphore.release()
    if end == "kill":
        tasks[0].kill()
    else:
        tasks[0].throw(ZeroDivisionError)
    tasks[1].join()
    assert log == [True]
    assert semaphore.value == 0


def test_a_cancel_comes_after_the_permit(mode):
    """What was handed over before is kept, as everywhere."""
    semaphore, scope, log = Semaphore(0), CancelScope(), []

    def work():
        with scope:
            log.append(semaphore.acquire())
            schedule()

    task = spawn(work)
    schedule()
    semaphore.release()
    scope.cancel()
    task.join()
    assert log == [True]
    assert scope.cancelled_caught


def test_no_more_than_max_value():
    semaphore = Semaphore(1, 2)
    assert (semaphore.value, semaphore.max_value) == (1, 2)
    semaphore.release()
    for n in (1, 2, 1 << 60):
        with pytest.raises(ValueError, match="more permits than its max_value"):
            semaphore.release(n)
    assert semaphore.value == 2
    assert Semaphore().max_value is None


def test_between_threads():
    semaphore, log = Semaphore(0), []
    thread = threading.Thread(target=lambda: log.append(semaphore.acquire(timeout=60)))
    thread.start()
    semaphore.release()
    thread.join()
    assert log == [True]
    assert semaphore.value == 0


def test_nobody_can_release_it():
    with pytest.raises(Deadlock, match=r"main: acquire <loomlet.Semaphore at 0x\w+ value=0>"):
        loomlet.run(Semaphore(0).acquire)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Semaphore(-1), "expected a value of at least 0, found -1"),
        (lambda: Semaphore(3, 2), "expected a max_value of at least 3, found 2"),
        (lambda: Semaphore().release(0), "expected n of at least 1, found 0"),
        (lambda: Semaphore().acquire(False, 1), "can't specify a timeout"),
    ],
)
def test_wrong_values(make, text):
    with pytest.raises(ValueError, match=text):
        make()
