"""kill() is stronger than scopes: TaskletExit stays TaskletExit."""

import pytest

import loomlet
from loomlet import Cancelled, CancelScope, Channel, TaskGroup, TaskletKilled, timeout
from loomlet.testing import wait_all_blocked


def ended_by_kill(task):
    with pytest.raises(TaskletKilled):
        task.join()
    return True


@pytest.mark.parametrize("make", [CancelScope, lambda: timeout(5), TaskGroup])
def test_through_one_of_each(make, mode, clock):
    """No scope catches it."""

    def worker():
        with make():
            Channel().receive()

    task = loomlet.spawn(worker)
    loomlet.schedule()
    task.kill()
    assert task.state == "done"
    assert ended_by_kill(task)


def test_a_group_ends_its_children_first(mode):
    """The killed tasklet waits for its children, then ends with TaskletExit."""
    ch, log = Channel(), []

    def child():
        try:
            Channel().receive()
        finally:
            with CancelScope(shield=True):
                log.append(ch.receive())

    def worker():
        with TaskGroup() as group:
            group.spawn(child)
            Channel().receive()

    task = loomlet.spawn(worker)
    loomlet.schedule()
    loomlet.schedule()
    task.kill()
    assert (task.state, log) == ("blocked", [])
    ch.send("last words")
    assert ended_by_kill(task)
    assert log == ["last words"]


def test_while_the_group_waits(mode):
    """Also when the body has ended already; killing again does not lose a child."""
    ch, log = Channel(), []

    def child():
        try:
            Channel().receive()
        finally:
            with CancelScope(shield=True):
                log.append(ch.receive())

    def worker():
        with TaskGroup() as group:
            group.spawn(child)

    task = loomlet.spawn(worker)
    loomlet.schedule()
    loomlet.schedule()
    task.kill()
    task.kill()
    assert task.state == "blocked"
    ch.send("last words")
    assert ended_by_kill(task)
    assert log == ["last words"]


def test_failures_of_children_are_reported(failures):
    """A child that fails while its group is being killed is reported to the error handler."""
    error = ValueError("a")

    def child():
        try:
            Channel().receive()
        finally:
            raise error

    def worker():
        with TaskGroup() as group:
            tasks.append(group.spawn(child))

    tasks = []
    task = loomlet.spawn(worker)
    loomlet.schedule()
    loomlet.schedule()
    task.kill()
    assert ended_by_kill(task)
    assert failures == [(tasks[0], error)]
    failures.clear()


def test_the_failure_of_the_body_is_reported(failures):
    """A body that has failed, and is killed while its children end: the failure is not silent."""
    error, ch = ValueError("a"), Channel()

    def child():
        try:
            Channel().receive()
        finally:
            with CancelScope(shield=True):
                ch.receive()

    def worker():
        with TaskGroup() as group:
            group.spawn(child)
            loomlet.schedule()
            raise error

    task = loomlet.spawn(worker)
    wait_all_blocked()
    task.kill()
    ch.send(1)
    assert ended_by_kill(task)
    assert failures == [(task, error)]
    failures.clear()


def test_an_exception_thrown_into_the_wait_is_a_failure(mode):
    """throw() into a group that waits: it is raised with the others when all have ended."""
    error, log = KeyError("x"), []

    def child():
        try:
            Channel().receive()
        finally:
            log.append("ended")

    def worker():
        with TaskGroup() as group:
            group.spawn(child)

    task = loomlet.spawn(worker)
    loomlet.schedule()
    loomlet.schedule()
    task.throw(error)
    with pytest.raises(ExceptionGroup) as info:
        task.result()
    assert info.value.exceptions == (error,)
    assert log == ["ended"]


def test_a_cancelled_thrown_by_hand_passes(mode):
    """A group that was not cancelled ends its children and lets the Cancelled pass."""
    log = []

    def child():
        try:
            Channel().receive()
        finally:
            log.append("ended")

    def worker():
        with TaskGroup() as group:
            group.spawn(child)

    task = loomlet.spawn(worker)
    wait_all_blocked()
    task.throw(Cancelled)
    with pytest.raises(TaskletKilled):
        task.join()
    assert log == ["ended"]


def test_run_ends_groups_too():
    """The end of run() kills a tasklet that waits for children, and the children."""
    log = []

    def child():
        try:
            Channel().receive()
        finally:
            log.append("child")

    def worker():
        try:
            with TaskGroup() as group:
                group.spawn(child)
        finally:
            log.append("worker")

    def main():
        loomlet.spawn(worker)
        loomlet.schedule()
        loomlet.schedule()

    loomlet.run(main)
    assert log == ["child", "worker"]
