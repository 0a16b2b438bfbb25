"""TaskGroup(limit=n): spawn() waits while n children have not ended."""

import threading

import pytest

import loomlet
from loomlet import Cancelled, ScopeError, TaskGroup, schedule, spawn, timeout


@pytest.mark.parametrize("limit", [1, 3])
def test_so_many_at_once(mode, limit):
    inside, most, done = [], [], []

    def work(name):
        inside.append(name)
        most.append(len(inside))
        schedule()
        inside.remove(name)
        done.append(name)

    with TaskGroup(limit=limit) as group:
        tasks = [group.spawn(work, name) for name in range(10)]
    assert max(most) == limit
    assert sorted(done) == list(range(10))
    assert all(task.state == "done" for task in tasks)


def test_a_child_that_never_ran_gives_back(mode):
    """Killed before its first step."""
    with TaskGroup(limit=1) as group:
        for _ in range(3):
            group.spawn(schedule).kill()
        assert group.spawn(lambda: 3).result() == 3


def test_wrong_arguments_take_nothing(mode):
    with TaskGroup(limit=1) as group:
        for _ in range(3):
            with pytest.raises(TypeError):
                group.spawn(3)
        assert group.spawn(lambda: 3).result() == 3


def test_the_wait_is_ended(mode):
    """By a time limit, and by the failure of a child."""

    def fail():
        schedule()
        raise ZeroDivisionError

    with TaskGroup(limit=1) as group:
        group.spawn(loomlet.sleep, 3600)
        with pytest.raises(TimeoutError), timeout(0):
            group.spawn(schedule)
        group.cancel()
    with pytest.raises(ExceptionGroup) as raised, TaskGroup(limit=1) as group:
        group.spawn(fail)
        with pytest.raises(Cancelled):
            group.spawn(schedule)
        with pytest.raises(ScopeError):
            group.spawn(schedule)
    assert [type(error) for error in raised.value.exceptions] == [ZeroDivisionError]


def test_from_a_child_and_from_a_thread(mode):
    log = []

    def parent(group):
        group.spawn(log.append, "child of a child")

    with TaskGroup(limit=2) as group:
        group.spawn(parent, group)
        schedule()
        thread = threading.Thread(target=group.spawn, args=(log.append, "from a thread"))
        thread.start()
        thread.join()
    assert sorted(log) == ["child of a child", "from a thread"]


def test_it_is_a_group():
    group = TaskGroup(limit=3)
    assert isinstance(group, TaskGroup)
    assert type(TaskGroup(limit=None)) is TaskGroup
    for wrong, error in ((0, ValueError), ("two", TypeError)):
        with pytest.raises(error):
            TaskGroup(limit=wrong)
    assert spawn(schedule).join() is None
