"""remove() pauses a runnable tasklet, insert() makes it runnable again."""

import pytest

import loomlet
from loomlet import Channel


def test_a_removed_tasklet_does_not_run(mode):
    """A paused tasklet stays where it is until it is inserted."""
    log = []
    task = loomlet.spawn(log.append, "ran")
    assert task.remove() is task
    assert task.state == "paused"
    loomlet.schedule()
    assert log == []
    assert task.insert() is task
    assert task.state == "runnable"
    loomlet.schedule()
    assert log == ["ran"]


def test_insert_puts_it_at_the_tail(mode):
    """An inserted tasklet is the last of the queue."""
    log = []
    first = loomlet.spawn(log.append, "first")
    loomlet.spawn(log.append, "second")
    first.remove()
    first.insert()
    loomlet.schedule()
    assert log == ["second", "first"]


def test_a_value_on_its_way_is_kept(mode):
    """Pausing a tasklet that was handed a value does not lose the value."""
    ch = Channel()
    task = loomlet.spawn(ch.receive)
    loomlet.schedule()
    ch.send("value")
    task.remove()
    loomlet.schedule()
    task.insert()
    assert task.result() == "value"


def test_both_may_be_repeated(mode):
    """Inserting a runnable tasklet and removing a paused one change nothing."""
    log = []
    task = loomlet.spawn(log.append, "once")
    task.insert()
    task.remove().remove()
    task.insert().insert()
    loomlet.schedule()
    loomlet.schedule()
    assert log == ["once"]


def test_a_blocked_tasklet_cannot_be_inserted_or_removed(mode):
    """A tasklet that waits for something cannot be moved; the error says what to do."""
    ch = Channel()
    task = loomlet.spawn(ch.receive)
    loomlet.schedule()
    for operation in (task.insert, task.remove):
        with pytest.raises(loomlet.TaskletError) as info:
            operation()
        assert "is blocked; end its wait" in str(info.value)
        assert repr(task) in str(info.value)
        assert "throw() or kill()" in str(info.value)
    ch.send(1)
    assert task.result() == 1


def test_a_dead_tasklet_cannot_be_inserted(mode):
    """Inserting what has ended raises DeadTasklet."""
    task = loomlet.spawn(lambda: None)
    task.join()
    with pytest.raises(
        loomlet.DeadTasklet, match="has ended and cannot run again; spawn a new tasklet"
    ):
        task.insert()


def test_the_running_tasklet_cannot_be_removed(mode):
    """A tasklet cannot remove itself; insert() of itself changes nothing."""

    def body():
        me = loomlet.current()
        with pytest.raises(loomlet.TaskletError, match="cannot do this to itself"):
            me.remove()
        return me.insert() is me

    assert loomlet.spawn(body).result() is True


def test_a_paused_tasklet_is_owned_by_its_holder(mode):
    """A paused tasklet that nothing refers to is ended, and its finally runs."""
    log = []

    def body():
        try:
            loomlet.schedule()
        finally:
            log.append("finally")

    task = loomlet.spawn(body)
    loomlet.schedule()
    task.remove()
    with pytest.warns(ResourceWarning):
        del task
    assert log == ["finally"]
