"""tasklet.run() and tasklet.switch() choose which tasklet runs now."""

import pytest

import loomlet
from loomlet import Channel


def test_run_runs_it_now(mode):
    """run() passes over the queue; the caller continues first when that one stops."""
    log = []

    def body():
        log.append("run")
        loomlet.schedule()
        log.append("later")

    loomlet.spawn(log.append, "queued")
    task = loomlet.spawn(body)
    assert task.run() is None
    log.append("caller")
    loomlet.schedule()
    assert log == ["run", "caller", "queued", "later"]


def test_run_of_a_paused_tasklet(mode):
    """A paused tasklet is run too."""
    task = loomlet.spawn(lambda: "ran").remove()
    task.run()
    assert task.result() == "ran"


def test_switch_pauses_the_caller(mode):
    """The caller of switch() stays paused until something inserts it."""
    log = []

    def caller():
        log.append("before")
        assert target.switch() is None
        log.append("after")

    target = loomlet.spawn(log.append, "target").remove()
    task = loomlet.spawn(caller)
    loomlet.schedule()
    assert log == ["before", "target"]
    assert task.state == "paused"
    loomlet.schedule()
    assert task.state == "paused"
    task.insert().join()
    assert log == ["before", "target", "after"]


def test_main_may_switch(mode):
    """The main tasklet can pause itself; another one inserts it."""
    main, log = loomlet.current(), []

    def body():
        log.append(main.state)
        loomlet.schedule()
        log.append(main.state)
        main.insert()

    loomlet.spawn(body).switch()
    assert log == ["paused", "paused"]


def test_two_that_switch_to_each_other(mode):
    """Two tasklets that switch() to each other are coroutines."""
    log = []

    def body(name, other):
        for n in range(3):
            log.append(name + str(n))
            other[0].switch()

    others = [[None], [None]]
    a = loomlet.spawn(body, "a", others[0]).remove()
    b = loomlet.spawn(body, "b", others[1]).remove()
    others[0][0], others[1][0] = b, a
    a.run()
    assert log == ["a0", "b0", "a1", "b1", "a2", "b2"]
    for task in (a, b):
        task.kill()


def test_itself_is_no_switch(mode):
    """run() and switch() of the running tasklet return at once."""

    def body():
        me = loomlet.current()
        return me.run(), me.switch(), me.state

    assert loomlet.spawn(body).result() == (None, None, "running")


@pytest.mark.parametrize("how", ["run", "switch"])
def test_a_blocked_tasklet_cannot_be_run(how, mode):
    """A tasklet that waits cannot be run; the error says what to do."""
    ch = Channel()
    task = loomlet.spawn(ch.receive)
    loomlet.schedule()
    with pytest.raises(loomlet.TaskletError, match="give it what it waits for") as info:
        getattr(task, how)()
    assert "is blocked; end its wait" in str(info.value)
    assert ch.balance == -1
    task.kill()


@pytest.mark.parametrize("how", ["run", "switch"])
def test_a_dead_tasklet_cannot_be_run(how, mode):
    """A tasklet that has ended cannot be run."""
    task = loomlet.spawn(lambda: None)
    task.join()
    with pytest.raises(loomlet.DeadTasklet, match="has ended and cannot run again"):
        getattr(task, how)()


def test_a_value_on_its_way_is_delivered(mode):
    """run() of a tasklet that was handed a value gives it that value."""
    ch = Channel()
    task = loomlet.spawn(ch.receive)
    loomlet.schedule()
    ch.send("value")
    task.run()
    assert task.state == "done"
    assert task.result() == "value"


def test_an_unreferenced_paused_caller_is_ended(mode):
    """A tasklet that switched away and is forgotten is collected; its finally runs."""
    log = []

    def body(target):
        try:
            target.switch()
        finally:
            log.append("finally")

    loomlet.spawn(body, loomlet.spawn(lambda: None).remove())
    with pytest.warns(ResourceWarning):
        loomlet.schedule()
        loomlet.schedule()
    assert log == ["finally"]
