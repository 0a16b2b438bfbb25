"""kill() throws TaskletExit."""

import pytest

import loomlet.compat.stackless as stackless


def test_finally_runs(mode):
    """Spec 3, tasklet.kill: TaskletExit is raised where it waits; returns None."""
    log, ch = [], stackless.channel()

    def body():
        try:
            ch.receive()
        except TaskletExit:
            log.append("exit")
            raise
        finally:
            log.append("finally")

    task = stackless.tasklet(body)()
    stackless.run()
    assert task.kill() is None
    assert log == ["exit", "finally"]
    assert not task.alive
    assert ch.balance == 0


def test_it_can_be_survived(mode):
    """Spec 3, tasklet.kill: a tasklet may catch it and continue; the caller waits for its turn."""
    ch, log = stackless.channel(), []

    def body():
        try:
            ch.receive()
        except TaskletExit:
            log.append("survived")
            log.append(ch.receive())

    task = stackless.tasklet(body)()
    stackless.run()
    task.kill()
    assert log == ["survived"]
    assert task.blocked
    ch.send("value")
    assert log == ["survived", "value"]


def test_pending(mode):
    """Spec 3, tasklet.kill: with pending it ends when its turn comes."""
    ch = stackless.channel()
    task = stackless.tasklet(ch.receive)()
    stackless.run()
    assert task.kill(pending=True) is None
    assert task.alive
    assert not task.blocked
    stackless.run()
    assert not task.alive


def test_a_tasklet_that_has_not_started(mode):
    """Spec 3, tasklet.kill: it ends without having run, in silence."""
    log = []
    paused, scheduled = stackless.tasklet(log.append, (1,)), stackless.tasklet(log.append)(2)
    paused.kill()
    scheduled.kill()
    assert not paused.alive
    assert not scheduled.alive
    stackless.run()
    assert log == []


def test_a_dead_one():
    """Spec 3, tasklet.kill: nothing happens."""
    for task in (stackless.tasklet(), stackless.tasklet(print)):
        assert task.kill() is None
        assert task.kill(True) is None


def test_oneself(mode):
    """Spec 3, tasklet.kill: the current tasklet ends; the main one raises TaskletExit."""
    log = []

    def body():
        stackless.getcurrent().kill()
        log.append("not reached")

    task = stackless.tasklet(body)()
    stackless.run()
    assert not task.alive
    assert log == []
    with pytest.raises(TaskletExit):
        stackless.getcurrent().kill()
    with pytest.raises(TaskletExit):
        stackless.getcurrent().kill(pending=True)


def test_those_between_run_first(mode):
    """Spec 3, tasklet.kill: it returns when the scheduler gets back to the caller."""
    log = []
    task = stackless.tasklet(stackless.schedule)()
    stackless.schedule()
    stackless.tasklet(log.append)("between")
    task.kill()
    assert log == ["between"]


def test_of_another_thread(thread, mode):
    """Spec 3, tasklet.kill: it ends there, when that thread runs it."""
    ch = stackless.channel()
    task = stackless.tasklet(ch.receive)()
    stackless.run()
    thread(task.kill).result()
    stackless.run()
    assert not task.alive


def test_after_the_end_of_its_thread(thread):
    """Spec 3, tasklet.kill: without a thread its frames are dropped, quietly."""
    task = thread(lambda: stackless.tasklet(print, ())).result()
    assert task.kill() is None
    assert not task.alive
