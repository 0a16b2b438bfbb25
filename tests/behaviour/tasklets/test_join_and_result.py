"""join() waits for the end; result() also returns what the function returned."""

import pytest

import loomlet
from loomlet import Channel


def test_result_returns_what_the_function_returned(mode):
    """result() gives the very object, join() gives None."""
    value = object()
    task = loomlet.spawn(lambda: value)
    assert task.result() is value
    assert task.join() is None


def test_it_may_be_asked_again(mode):
    """The result stays with the tasklet."""
    task = loomlet.spawn(lambda: [1])
    assert task.result() is task.result()


def test_all_that_wait_get_the_result(mode):
    """Any number of tasklets may wait for one; they continue in the order of their arrival."""
    ch, log = Channel(), []
    target = loomlet.spawn(ch.receive)

    def wait(n):
        log.append((n, target.result()))

    waiters = [loomlet.spawn(wait, n) for n in range(5)]
    loomlet.schedule()
    ch.send("value")
    for waiter in waiters:
        waiter.join()
    assert log == [(n, "value") for n in range(5)]


def test_all_that_wait_get_the_exception(mode, failures):
    """Each joiner gets the exception that ended the tasklet: the same object."""
    error = ValueError("mine")

    def fail():
        loomlet.schedule()
        raise error

    target = loomlet.spawn(fail)

    def wait(how):
        with pytest.raises(ValueError, match="mine") as info:
            how()
        return info.value

    waiters = [loomlet.spawn(wait, target.join), loomlet.spawn(wait, target.result)]
    assert [waiter.result() for waiter in waiters] == [error, error]
    assert wait(target.join) is error
    assert failures == []


def test_joining_a_killed_tasklet_raises_taskletkilled(mode):
    """A killed tasklet has no result: join() raises an ordinary exception."""
    task = loomlet.spawn(Channel().receive)
    loomlet.schedule()
    task.kill()
    with pytest.raises(loomlet.TaskletKilled):
        task.join()


def test_a_tasklet_cannot_join_itself(mode):
    """Waiting for its own end is an error that says so."""

    def body():
        with pytest.raises(loomlet.TaskletError, match="cannot do this to itself"):
            loomlet.current().join()
        return "continued"

    assert loomlet.spawn(body).result() == "continued"


def test_a_joiner_that_is_killed_leaves(mode):
    """Killing a joiner does not touch the tasklet it waits for, nor the other joiners."""
    ch = Channel()
    target = loomlet.spawn(ch.receive)
    killed, other = loomlet.spawn(target.result), loomlet.spawn(target.result)
    loomlet.schedule()
    killed.kill()
    assert (killed.state, target.state) == ("done", "blocked")
    ch.send(3)
    assert other.result() == 3


def test_the_waiting_one_gets_the_value_of_a_c_function(mode):
    """result() of a tasklet whose function returned None is None."""
    assert loomlet.spawn(lambda: None).result() is None


def test_values_are_released_with_the_tasklet():
    """A tasklet keeps its result no longer than it lives itself."""
    import weakref

    class Value:
        pass

    task = loomlet.spawn(Value)
    seen = weakref.ref(task.result())
    assert seen() is not None
    del task
    assert seen() is None
