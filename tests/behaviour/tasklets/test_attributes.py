"""The attributes of a tasklet: name, id, state, waiting_for."""

import gc

import pytest

import loomlet
from loomlet import Channel, Tasklet, _core


def func():
    loomlet.schedule()


class Named:
    def method(self):
        loomlet.schedule()


def test_the_name_is_the_functions_and_the_id():
    """A tasklet is named after its function; the id makes the name unique."""
    one, two = loomlet.spawn(func), loomlet.spawn(func)
    assert (one.name, two.name) == (f"func-{one.id}", f"func-{two.id}")
    assert loomlet.spawn(Named().method).name.startswith("Named.method-")


def test_the_name_can_be_set():
    """A name may be any str, and shows in repr()."""
    task = loomlet.spawn(func)
    task.name = "my worker"
    assert task.name == "my worker"
    assert "my worker" in repr(task)
    with pytest.raises(TypeError, match="must be a str"):
        task.name = 3


def test_the_name_stays_after_the_end():
    """A tasklet that has ended still has the name of its function."""
    task = loomlet.spawn(func)
    task.join()
    assert task.name == f"func-{task.id}"


def test_ids_are_unique_and_rising():
    """No two tasklets of a process have the same id."""
    ids = [loomlet.spawn(func).id for _ in range(100)]
    assert ids == sorted(set(ids))
    assert loomlet.current().id not in ids


def test_current_is_the_running_one(mode):
    """current() is the tasklet that calls it, also after it was suspended."""

    def body():
        before = loomlet.current()
        loomlet.schedule()
        return before, loomlet.current()

    task = loomlet.spawn(body)
    assert task.result() == (task, task)
    assert loomlet.current() is not task
    assert loomlet.current().name == "main"


def test_states_of_a_life(mode):
    """runnable, running, blocked, paused, runnable again, done."""
    seen = []

    def body(ch):
        seen.append(loomlet.current().state)
        ch.receive()

    ch = Channel()
    task = loomlet.spawn(body, ch)
    seen.append(task.state)
    loomlet.schedule()
    seen.append(task.state)
    ch.send(None)
    seen.append(task.state)
    task.remove()
    seen.append(task.state)
    task.insert()
    seen.append(task.state)
    loomlet.schedule()
    seen.append(task.state)
    assert seen == ["runnable", "running", "blocked", "runnable", "paused", "runnable", "done"]


def test_waiting_for_is_the_channel(mode):
    """A tasklet blocked in a channel operation waits for that channel."""
    ch, full = Channel(), Channel()
    receiver = loomlet.spawn(ch.receive)
    sender = loomlet.spawn(lambda: full.send(1))
    looper = loomlet.spawn(lambda: [x for x in ch])
    assert receiver.waiting_for is None
    loomlet.schedule()
    assert [t.waiting_for for t in (receiver, sender, looper)] == [ch, full, ch]
    assert [t.waiting_in for t in (receiver, sender, looper)] == ["receive", "send", "iterate"]
    ch.send(1)
    assert receiver.waiting_for is None
    assert receiver.waiting_in is None


def test_waiting_for_is_what_join_and_select_wait_for(mode, clock):
    """A joiner waits for the tasklet, a select for a tuple of channels, a sleeper for a time."""
    a, b = Channel(), Channel()
    target = loomlet.spawn(a.receive)
    joiner = loomlet.spawn(lambda: target.join())
    chooser = loomlet.spawn(lambda: loomlet.select([a, (b, 1)]))
    sleeper = loomlet.spawn(lambda: loomlet.sleep(5))
    loomlet.schedule()
    assert joiner.waiting_for is target
    assert chooser.waiting_for == (a, b)
    assert sleeper.waiting_for == clock() + 5
    assert [t.waiting_in for t in (joiner, chooser, sleeper)] == ["join", "select", "sleep"]
    chooser.kill()
    a.send(None)
    joiner.join()


def test_the_place_where_a_tasklet_is(mode):
    """The code and line of the innermost function of a suspended tasklet are known."""

    def inner(ch):
        ch.receive()

    def outer(ch):
        return inner(ch)

    task = loomlet.spawn(outer, Channel())
    assert task._where() is None
    loomlet.schedule()
    assert task._where() == (inner.__code__, inner.__code__.co_firstlineno + 1)
    task.kill()
    assert task._where() is None


def test_the_list_of_tasklets_has_those_that_have_not_ended(mode):
    """The list of a thread's tasklets begins with the main one and forgets those that ended."""
    ch = Channel()
    tasks = [loomlet.spawn(ch.receive) for _ in range(3)]
    assert _core.tasklets() == [loomlet.current(), *tasks]
    tasks[1].kill()
    assert _core.tasklets() == [loomlet.current(), tasks[0], tasks[2]]
    assert gc.get_referrers(tasks[0]) != []


def test_tasklets_are_made_by_spawn_only():
    """Tasklet() cannot be called."""
    with pytest.raises(TypeError, match="cannot create"):
        Tasklet()
