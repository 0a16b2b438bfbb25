"""While the switch trap is set, a switch on this thread is an error."""

import pytest

import loomlet.compat.stackless as stackless


@pytest.fixture
def trap():
    """The trap, set."""
    stackless.switch_trap(1)
    yield
    stackless.switch_trap(-1)


def test_it_returns_the_old_level():
    """Spec 2, switch_trap: levels add up; without an argument it only asks."""
    assert stackless.switch_trap() == 0
    assert stackless.switch_trap(1) == 0
    assert stackless.switch_trap(2) == 1
    assert stackless.switch_trap(-3) == 3
    assert stackless.switch_trap() == 0


def test_it_belongs_to_the_thread(trap, thread):
    """Spec 2, switch_trap: other threads have their own level."""
    assert thread(stackless.switch_trap).result() == 0


@pytest.mark.parametrize("name", ["schedule", "schedule_remove", "run"])
def test_functions_that_switch(name, raises):
    """Spec 2, switch_trap: schedule, schedule_remove and run would switch, and do not."""
    task = stackless.tasklet(lambda: None)()
    stackless.switch_trap(1)
    with raises(RuntimeError, "switch_trap"):
        getattr(stackless, name)()
    stackless.switch_trap(-1)
    assert stackless.getruncount() == 2
    assert stackless.getcurrent().next is task
    stackless.run()
    assert not task.alive


@pytest.mark.parametrize("name", ["run", "switch", "kill"])
def test_methods_that_switch(name, raises):
    """Spec 2, switch_trap: a tasklet can be run, switched to and killed only without it."""
    task = stackless.tasklet(stackless.schedule)()
    stackless.schedule()
    stackless.switch_trap(1)
    with raises(RuntimeError, "switch_trap"):
        getattr(task, name)()
    stackless.switch_trap(-1)
    assert task.alive
    stackless.run()
    assert not task.alive


def test_throwing_is_trapped(raises):
    """Spec 2, switch_trap: throw and raise_exception switch too; the target is as before."""
    ch = stackless.channel()
    task = stackless.tasklet(ch.receive)()
    stackless.run()
    stackless.switch_trap(1)
    with raises(RuntimeError, "switch_trap"):
        task.raise_exception(KeyError)
    with raises(RuntimeError, "switch_trap"):
        task.throw(KeyError)
    stackless.switch_trap(-1)
    assert task.blocked
    assert ch.balance == -1
    ch.send(None)


def test_schedule_alone_is_no_switch(trap):
    """Spec 2, switch_trap: schedule() of the only tasklet does nothing, so it is allowed."""
    assert stackless.schedule("value") == "value"


def test_blocking_on_a_channel(raises):
    """Spec 2, switch_trap: an action that would block raises; the channel is as before."""
    ch = stackless.channel()
    task = stackless.tasklet(lambda: None)()
    stackless.switch_trap(1)
    with raises(RuntimeError, "switch_trap"):
        ch.receive()
    with raises(RuntimeError, "switch_trap"):
        ch.send(1)
    stackless.switch_trap(-1)
    assert ch.balance == 0
    assert ch.queue is None
    task.remove()


def test_preference_that_switches(raises):
    """Spec 2, switch_trap: a send that would let the receiver run raises; it still waits."""
    ch, log = stackless.channel(), []
    stackless.tasklet(lambda: log.append(ch.receive()))()
    stackless.run()
    stackless.switch_trap(1)
    with raises(RuntimeError, "switch_trap"):
        ch.send(1)
    assert ch.balance == -1
    ch.preference = 0
    ch.send(2)
    stackless.switch_trap(-1)
    stackless.run()
    assert log == [2]


def test_actions_that_do_not_switch(trap):
    """Spec 2, switch_trap: making, binding, inserting and removing tasklets is unaffected."""
    task = stackless.tasklet(print)()
    task.remove().insert()
    task.throw(TaskletExit, pending=True)
    task.remove()
    task.bind(None)
    assert not task.alive


def test_another_thread_can_be_woken(thread):
    """Spec 2, switch_trap: handing a value to a tasklet of another thread is no switch here."""
    ch = stackless.channel()
    other = thread(ch.receive)
    stackless.switch_trap(1)
    try:
        while ch.balance == 0:
            pass  # the other thread is about to wait
        ch.send("value")
    finally:
        stackless.switch_trap(-1)
    assert other.result() == "value"


@pytest.mark.parametrize("name", ["run", "switch"])
def test_to_oneself(name, trap):
    """Spec 2, switch_trap: to run or switch to the current tasklet is no switch."""
    assert getattr(stackless.getcurrent(), name)() is None


def test_an_exception_of_ones_own(trap):
    """Spec 2, switch_trap: neither is to throw into oneself, nor to throw later."""
    with pytest.raises(KeyError):
        stackless.getcurrent().throw(KeyError)
    task = stackless.tasklet(print)()
    task.kill(pending=True)
    task.remove().bind(None)
