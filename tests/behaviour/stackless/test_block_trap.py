"""block_trap makes it an error for a tasklet to block."""

import pytest

import loomlet.compat.stackless as stackless

TEXT = "this tasklet does not like to be blocked."


@pytest.fixture
def trap():
    """The main tasklet, trapped."""
    stackless.getcurrent().block_trap = True
    yield
    stackless.getcurrent().block_trap = False


def test_it_can_be_set():
    """Spec 3, tasklet.block_trap: bool or int, False at first; reads as a bool."""
    task = stackless.tasklet()
    seen = [task.block_trap]
    for value in (True, 0, 1, False):
        task.block_trap = value
        seen.append(task.block_trap)
    assert [bool(value) for value in seen] == [False, True, False, True, False]


@pytest.mark.parametrize("wrong", [None, "text", 1.0])
def test_other_types(wrong, raises):
    """Spec 3, tasklet.block_trap: a TypeError."""
    with raises(TypeError, "block_trap must be set to a bool or integer"):
        stackless.tasklet().block_trap = wrong


@pytest.mark.parametrize("action", ["send", "receive"])
def test_blocking_raises(action, trap, raises):
    """Spec 3, tasklet.block_trap: an action that would wait fails; the channel is as before."""
    ch = stackless.channel()
    task = stackless.tasklet(lambda: None)()
    with raises(RuntimeError, TEXT):
        ch.send(1) if action == "send" else ch.receive()
    assert ch.balance == 0
    assert stackless.getruncount() == 2
    task.remove()


def test_in_a_tasklet(mode):
    """Spec 3, tasklet.block_trap: that of the acting tasklet counts, wherever it was set."""
    ch, texts = stackless.channel(), []

    def body():
        try:
            ch.receive()
        except RuntimeError as error:
            texts.append(str(error))

    task = stackless.tasklet(body)()
    task.block_trap = True
    stackless.run()
    assert texts == [TEXT]


def test_actions_that_do_not_wait(trap, mode):
    """Spec 3, tasklet.block_trap: switching is not blocking."""
    ch, log = stackless.channel(), []
    stackless.tasklet(lambda: log.append(ch.receive()))()
    stackless.schedule()
    ch.send("value")
    assert log == ["value"]
