"""tempval is the value slot of a tasklet: what its pending call will return or raise."""

import pytest

import loomlet.compat.stackless as stackless


def test_it_is_none_at_first():
    """Spec 3, tasklet.tempval: nothing is in the slot of a new tasklet."""
    assert stackless.tasklet().tempval is None


def test_it_holds_the_function_until_the_arguments_come():
    """Spec 3, tasklet.tempval: bind(func) keeps the function there."""
    task = stackless.tasklet(len)
    assert task.tempval is len


def test_it_is_what_the_pending_call_returns(mode):
    """Spec 1, tempval: a new value is what schedule() returns."""
    log = []
    task = stackless.tasklet(lambda: log.append(stackless.schedule("mine")))()
    stackless.schedule()
    assert task.tempval == "mine"
    task.tempval = "changed"
    stackless.run()
    assert log == ["changed"]


def test_of_a_paused_tasklet(mode):
    """Spec 1, tempval: schedule_remove() returns it too."""
    log = []
    task = stackless.tasklet(lambda: log.append(stackless.schedule_remove("mine")))()
    stackless.run()
    task.tempval = "changed"
    task.insert()
    stackless.run()
    assert log == ["changed"]


def test_a_bomb_is_raised(mode):
    """Spec 1, bomb in tempval: the switch into the tasklet raises the bomb's exception."""
    log, error = [], KeyError("boom")

    def body():
        try:
            stackless.schedule()
        except KeyError as caught:
            log.append(caught)

    task = stackless.tasklet(body)()
    stackless.schedule()
    task.tempval = stackless.bomb(KeyError, error, None)
    stackless.run()
    assert log == [error]


def test_a_bomb_can_be_read_back(mode):
    """Spec 1, bomb in tempval: until it goes off, it can be looked at."""
    error = KeyError("boom")
    task = stackless.tasklet(stackless.schedule)()
    stackless.schedule()
    task.tempval = stackless.bomb(KeyError, error, None)
    assert type(task.tempval) is stackless.bomb
    assert task.tempval.value is error
    with pytest.raises(KeyError, match="boom"):
        stackless.run()
