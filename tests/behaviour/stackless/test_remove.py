"""remove() takes a tasklet out of the run queue."""

import loomlet.compat.stackless as stackless


def test_it_is_paused(mode):
    """Spec 3, tasklet.remove: it does not run until it is inserted; returns the tasklet."""
    log = []
    task = stackless.tasklet(log.append)("ran")
    assert task.remove() is task
    assert task.paused
    assert stackless.getruncount() == 1
    stackless.run()
    assert log == []
    task.insert()
    stackless.run()
    assert log == ["ran"]


def test_the_others_keep_their_order(mode):
    """Spec 3, tasklet.remove: from the middle of the ring too."""
    log = []
    tasks = [stackless.tasklet(log.append)(n) for n in range(3)]
    tasks[1].remove()
    assert tasks[0].next is tasks[2]
    stackless.run()
    assert log == [0, 2]
    tasks[1].insert()
    stackless.run()
    assert log == [0, 2, 1]


def test_a_tasklet_in_no_queue():
    """Spec 3, tasklet.remove: paused, unbound or dead: nothing happens."""
    ended = stackless.tasklet(lambda: None)()
    stackless.run()
    for task in (stackless.tasklet(), stackless.tasklet(print, ()), ended):
        assert task.remove() is task


def test_after_the_end_of_its_thread(thread):
    """Spec 3, tasklet.remove: without a thread it is in no queue."""
    task = thread(lambda: stackless.tasklet(print, ())).result()
    assert task.remove() is task


def test_a_blocked_one(raises, mode):
    """Spec 3, tasklet.remove: it waits for its channel."""
    ch = stackless.channel()
    task = stackless.tasklet(ch.receive)()
    stackless.run()
    with raises(RuntimeError, "You cannot remove a blocked tasklet."):
        task.remove()
    assert task.blocked
    ch.send(None)


def test_the_current_one(raises, mode):
    """Spec 3, tasklet.remove: it runs; schedule_remove() is for that."""
    with raises(RuntimeError, "The current tasklet cannot be removed."):
        stackless.getcurrent().remove()
    assert stackless.getruncount() == 1
