"""A tasklet of spawn() belongs to no scope, wherever it was spawned."""

import loomlet
from loomlet import CancelScope, Channel, TaskGroup, timeout


def test_it_is_not_cancelled_with_the_spawner(mode):
    """The scope's cancel ends the spawner's block only."""
    ch = Channel()
    with CancelScope() as scope:
        task = loomlet.spawn(ch.receive)
        loomlet.schedule()
        scope.cancel()
        loomlet.schedule()
    assert task.state == "blocked"
    ch.send("value")
    assert task.result() == "value"


def test_it_does_not_share_a_timeout(clock):
    """Time that is over for the spawner is not over for it."""
    with timeout(5):
        task = loomlet.spawn(lambda: loomlet.sleep(10) or "done")
    assert task.result() == "done"
    assert clock() == 10.0


def test_a_group_does_not_wait_for_it():
    """Only group.spawn() makes children."""
    ch = Channel()
    with TaskGroup():
        task = loomlet.spawn(ch.receive)
        loomlet.schedule()
    assert task.state == "blocked"
    ch.send("value")
    task.join()


def test_spawned_by_a_child_it_is_no_child():
    """What a child spawns plainly outlives the group and is not cancelled with it."""
    ch, tasks = Channel(), []

    def child():
        tasks.append(loomlet.spawn(ch.receive))

    with TaskGroup() as group:
        group.spawn(child)
        loomlet.schedule()
        loomlet.schedule()
        group.cancel()
    assert tasks[0].state == "blocked"
    ch.send("value")
    assert tasks[0].result() == "value"
