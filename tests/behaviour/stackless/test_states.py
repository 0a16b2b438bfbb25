"""A tasklet is unbound or dead, paused, scheduled, blocked or current; five attributes show it."""

import pytest

import loomlet.compat.stackless as stackless

NAMES = ("alive", "paused", "blocked", "scheduled", "is_current")


def state(task):
    """The names that are true of the tasklet; each is a plain bool."""
    values = [getattr(task, name) for name in NAMES]
    assert {type(value) for value in values} == {bool}
    return [name for name, value in zip(NAMES, values, strict=True) if value]


def test_unbound():
    """Spec 1, states: a tasklet without a function, or whose function has no arguments yet."""
    assert state(stackless.tasklet()) == []
    assert state(stackless.tasklet(print)) == []


def test_paused():
    """Spec 1, states: bound with its arguments, or taken out of the run queue."""
    assert state(stackless.tasklet(print, ())) == ["alive", "paused"]
    assert state(stackless.tasklet(print)().remove()) == ["alive", "paused"]


def test_scheduled(mode):
    """Spec 1, states: in the run queue."""
    task = stackless.tasklet(lambda: None)()
    assert state(task) == ["alive", "scheduled"]
    stackless.run()
    assert state(task) == []


def test_current(mode):
    """Spec 1, states: the running one is in the run queue too; a waiting one is not current."""
    main, seen = stackless.getcurrent(), []
    assert state(main) == ["alive", "scheduled", "is_current"]
    stackless.tasklet(lambda: seen.extend([state(stackless.getcurrent()), state(main)]))()
    stackless.schedule()
    assert seen == [["alive", "scheduled", "is_current"], ["alive", "scheduled"]]


def test_blocked(mode):
    """Spec 1, states: a tasklet in the queue of a channel counts as scheduled."""
    ch = stackless.channel()
    task = stackless.tasklet(ch.receive)()
    stackless.run()
    assert state(task) == ["alive", "blocked", "scheduled"]
    ch.send(1)
    assert state(task) == []


def test_a_waiting_watchdog_is_paused(mode):
    """Spec 1, states: a tasklet that waits in run() is alive and in no queue."""
    main, seen = stackless.getcurrent(), []
    stackless.tasklet(lambda: seen.append(state(main)))()
    stackless.run()
    assert seen == [["alive", "paused"]]


@pytest.mark.parametrize("name", [*NAMES, "is_main", "atomic", "ignore_nesting"])
def test_they_cannot_be_set(name):
    """Spec 3, tasklet.alive: attributes that show the state are read-only."""
    with pytest.raises(AttributeError):
        setattr(stackless.tasklet(), name, True)


def test_alive_has_a_frame(mode):
    """Spec 3, tasklet.alive: from the binding of the arguments to the end."""
    task = stackless.tasklet(lambda: None)
    before = task.alive
    task.bind(None, ())
    bound = task.alive
    task.insert()
    stackless.run()
    assert (before, bound, task.alive) == (False, True, False)


def test_paused_is_in_no_queue():
    """Spec 3, tasklet.paused: insert() ends it, remove() begins it."""
    task = stackless.tasklet(lambda: None, ())
    assert task.paused
    task.insert()
    assert not task.paused
    task.remove()
    assert task.paused


def test_blocked_is_in_a_channel(mode):
    """Spec 3, tasklet.blocked: for senders and receivers alike."""
    ch = stackless.channel()
    ch.preference = 0
    task = stackless.tasklet(ch.send)(1)
    assert not task.blocked
    stackless.run()
    assert task.blocked
    ch.receive()
    assert not task.blocked
    stackless.run()


def test_scheduled_is_in_a_queue(mode):
    """Spec 3, tasklet.scheduled: the run queue, or that of a channel."""
    ch = stackless.channel()
    task = stackless.tasklet(ch.receive, ())
    seen = [task.scheduled]
    task.insert()
    seen.append(task.scheduled)
    stackless.run()
    seen.append(task.scheduled)
    ch.send(1)
    assert [*seen, task.scheduled] == [False, True, True, False]


def test_is_main_and_is_current(mode):
    """Spec 3, tasklet.is_main, is_current: seen from inside a tasklet."""
    main, seen = stackless.getmain(), []

    def body():
        me = stackless.getcurrent()
        seen.extend([me.is_main, me.is_current, main.is_main, main.is_current])

    stackless.tasklet(body)()
    stackless.run()
    assert seen == [False, True, True, False]


def test_is_current_is_of_its_own_thread(thread):
    """Spec 3, tasklet.is_main, is_current: two threads have two current tasklets."""
    main = stackless.getmain()
    assert thread(lambda: (main.is_main, main.is_current)).result() == (True, True)
