"""kill() ends a tasklet wherever it is; its finally blocks run at once."""

import pytest

import loomlet
from loomlet import Channel


def hard(func, *args):
    """Calls func below C code."""
    return next(map(lambda _: func(*args), [0]))


WAITS = {
    "runnable": lambda ch, other: loomlet.schedule(),
    "send": lambda ch, other: ch.send(1),
    "receive": lambda ch, other: ch.receive(),
    "iterate": lambda ch, other: [value for value in ch],
    "select to receive": lambda ch, other: loomlet.select([ch, Channel()]),
    "select to send": lambda ch, other: loomlet.select([(ch, 1)]),
    "select with timeout": lambda ch, other: loomlet.select([ch], timeout=9),
    "join": lambda ch, other: other.join(),
    "result with timeout": lambda ch, other: other.result(timeout=9),
    "sleep": lambda ch, other: loomlet.sleep(9),
    "hard in receive": lambda ch, other: hard(ch.receive),
    "hard in select": lambda ch, other: hard(loomlet.select, [ch]),
    "hard in sleep": lambda ch, other: hard(loomlet.sleep, 9),
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_a_suspended_tasklet(wait, mode, clock):
    """It raises TaskletExit where the tasklet waits; when kill() returns it is dead."""
    log = []

    def body():
        try:
            wait(ch, other)
        except loomlet.TaskletExit:
            log.append("exit")
            raise
        finally:
            log.append("finally")

    ch, other = Channel(), loomlet.spawn(Channel().receive)
    task = loomlet.spawn(body)
    loomlet.schedule()
    assert task.kill() is None
    assert log == ["exit", "finally"]
    assert task.state == "done"
    assert ch.balance == 0
    assert other.state == "blocked"
    loomlet.sleep(20)
    assert clock() == 20


def test_a_tasklet_that_has_not_started(mode):
    """A tasklet killed before its start never runs."""
    log = []
    task = loomlet.spawn(log.append, "ran")
    task.kill()
    assert task.state == "done"
    loomlet.schedule()
    assert log == []


def test_a_paused_one(mode):
    """A paused tasklet is ended as any other, started or not."""
    log = []

    def body():
        try:
            loomlet.schedule()
        finally:
            log.append("finally")

    started, fresh = loomlet.spawn(body), loomlet.spawn(body)
    fresh.remove()
    loomlet.schedule()
    started.remove().kill()
    fresh.kill()
    assert (started.state, fresh.state) == ("done", "done")
    assert log == ["finally"]


def test_a_tasklet_that_has_ended(mode):
    """Killing what has ended does nothing."""
    task = loomlet.spawn(lambda: "result")
    task.join()
    assert task.kill() is None
    assert task.result() == "result"


def test_itself(mode):
    """A tasklet that kills itself raises TaskletExit there."""
    log = []

    def body():
        try:
            loomlet.current().kill()
            log.append("not reached")
        finally:
            log.append("finally")

    task = loomlet.spawn(body)
    loomlet.schedule()
    assert task.state == "done"
    assert log == ["finally"]


def test_the_main_tasklet_kills_itself():
    """In the main tasklet the exception is raised too; it is main's to handle."""
    with pytest.raises(loomlet.TaskletExit):
        loomlet.current().kill()


def test_a_tasklet_kills_the_waiting_main(mode):
    """TaskletExit can be thrown at the main tasklet while it waits."""
    main = loomlet.current()
    loomlet.spawn(main.kill)
    with pytest.raises(loomlet.TaskletExit):
        Channel().receive()


def test_one_with_a_value_on_its_way(mode):
    """A tasklet that was handed a value but has not run yet is killed all the same."""
    ch = Channel()
    task = loomlet.spawn(ch.receive)
    loomlet.schedule()
    ch.send("lost with it")
    task.kill()
    assert task.state == "done"


def test_kill_is_silent(failures, mode):
    """A tasklet that ends by TaskletExit is no failure."""
    for func in (loomlet.schedule, Channel().receive):
        task = loomlet.spawn(func)
        loomlet.schedule()
        task.kill()
    assert failures == []
