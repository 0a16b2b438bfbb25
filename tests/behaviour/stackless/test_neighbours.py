"""next, prev, _channel, thread_id and cstate show where a tasklet is queued and runs."""

import threading

import pytest

import loomlet.compat.stackless as stackless


def test_in_the_run_queue():
    """Spec 3, tasklet.next, prev: the ring has no end."""
    main = stackless.getcurrent()
    a, b = stackless.tasklet(print)(), stackless.tasklet(print)()
    assert [main.next, a.next, b.next] == [a, b, main]
    assert [main.prev, a.prev, b.prev] == [b, main, a]
    a.remove()
    b.remove()
    assert main.next is main


def test_in_no_queue():
    """Spec 3, tasklet.next, prev: None for a paused or dead tasklet."""
    for task in (stackless.tasklet(), stackless.tasklet(print, ())):
        assert task.next is None
        assert task.prev is None


def test_in_a_channel(mode):
    """Spec 3, tasklet.next, prev: the others that wait there; None at its ends."""
    ch = stackless.channel()
    a, b, c = (stackless.tasklet(ch.receive)() for _ in range(3))
    stackless.run()
    assert [a.next, b.next, c.next] == [b, c, None]
    assert [a.prev, b.prev, c.prev] == [None, a, b]
    for _ in range(3):
        ch.send(None)
    assert a.next is None


def test_channel(mode):
    """Spec 3, tasklet._channel: what it is blocked on, else None."""
    ch = stackless.channel()
    task = stackless.tasklet(ch.receive)()
    assert task._channel is None
    stackless.run()
    assert task._channel is ch
    ch.send(None)
    assert task._channel is None


def test_thread_id(thread):
    """Spec 3, tasklet.thread_id: the ident of its thread; -1 when that has ended."""
    task = stackless.tasklet()
    assert task.thread_id == threading.get_ident()
    assert thread(lambda: task.thread_id).result() == threading.get_ident()
    other = thread(lambda: stackless.tasklet(print, ()))
    assert other.result().thread_id == -1


def test_cstate(mode):
    """Spec 3, tasklet.cstate: a cstack object for every tasklet, in every state."""
    ch = stackless.channel()
    task = stackless.tasklet()
    seen = [task.cstate, stackless.getcurrent().cstate]
    task.bind(ch.receive)()
    stackless.run()
    seen.append(task.cstate)
    ch.send(None)
    seen.append(task.cstate)
    assert {type(one) for one in seen} == {stackless.cstack}


@pytest.mark.parametrize("name", ["next", "prev", "_channel", "thread_id", "cstate", "frame"])
def test_they_cannot_be_set(name):
    """Spec 3, tasklet.next, prev: read-only, like all attributes of its position."""
    with pytest.raises(AttributeError):
        setattr(stackless.tasklet(), name, None)
