"""insert() puts a paused tasklet at the tail of the run queue."""

import loomlet.compat.stackless as stackless


def test_it_goes_to_the_tail(mode):
    """Spec 3, tasklet.insert: behind all others; returns the tasklet."""
    log = []
    late = stackless.tasklet(log.append, ("late",))
    stackless.tasklet(log.append)("first")
    assert late.insert() is late
    assert late.scheduled
    assert stackless.getcurrent().prev is late
    stackless.run()
    assert log == ["first", "late"]


def test_a_scheduled_one_stays_where_it_is(mode):
    """Spec 3, tasklet.insert: a second insert() does nothing."""
    log = []
    first = stackless.tasklet(log.append)("first")
    stackless.tasklet(log.append)("second")
    assert first.insert() is first
    assert stackless.getruncount() == 3
    stackless.run()
    assert log == ["first", "second"]


def test_the_current_one(mode):
    """Spec 3, tasklet.insert: it is in the queue, so nothing happens."""
    me = stackless.getcurrent()
    assert me.insert() is me
    assert stackless.getruncount() == 1


def test_a_blocked_one(raises, mode):
    """Spec 3, tasklet.insert: it has to get what it waits for."""
    ch = stackless.channel()
    task = stackless.tasklet(ch.receive)()
    stackless.run()
    with raises(RuntimeError, "You cannot run a blocked tasklet"):
        task.insert()
    assert task.blocked
    assert ch.balance == -1
    ch.send(None)


def test_a_dead_one(raises):
    """Spec 3, tasklet.insert: unbound, without arguments, or ended."""
    ended = stackless.tasklet(lambda: None)()
    stackless.run()
    for task in (stackless.tasklet(), stackless.tasklet(print), ended):
        with raises(RuntimeError, "You cannot run an unbound(dead) tasklet"):
            task.insert()
    assert stackless.getruncount() == 1


def test_after_the_end_of_its_thread(thread, raises):
    """Spec 3, tasklet.insert: there is no queue to go to."""
    task = thread(lambda: stackless.tasklet(print, ())).result()
    with raises(RuntimeError, "Target thread isn't initialized"):
        task.insert()
