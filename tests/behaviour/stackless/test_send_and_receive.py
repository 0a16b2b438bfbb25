"""A channel is a rendezvous: no buffer, first in, first out."""

import gc
import weakref

import pytest

import loomlet.compat.stackless as stackless


def test_a_receiver_waits_for_a_sender(mode):
    """Spec 4, channel.receive: blocks until something sends; returns the value."""
    ch, log = stackless.channel(), []
    task = stackless.tasklet(lambda: log.append(ch.receive()))()
    stackless.run()
    assert task.blocked
    assert stackless.getruncount() == 1
    assert ch.send("value") is None
    assert log == ["value"]


def test_a_sender_waits_for_a_receiver(mode):
    """Spec 4, channel.send: blocks until something receives; returns None."""
    ch, log = stackless.channel(), []
    task = stackless.tasklet(lambda: log.append(ch.send("value")))()
    stackless.run()
    assert task.blocked
    assert ch.receive() == "value"
    stackless.run()
    assert log == [None]


def test_any_object(mode):
    """Spec 4, channel.send: values are handed over as they are."""
    ch, value = stackless.channel(), object()
    stackless.tasklet(lambda: [ch.send(value), ch.send(None)])()
    assert ch.receive() is value
    assert ch.receive() is None
    stackless.run()


def test_first_in_first_out(mode):
    """Spec 4, channel(): of several that wait, the first is served first; any number may wait."""
    ch, log = stackless.channel(), []
    for n in range(5):
        stackless.tasklet(ch.send)(n)
    stackless.run()
    assert ch.balance == 5
    assert [ch.receive() for _ in range(5)] == list(range(5))
    for n in range(5):
        stackless.tasklet(lambda n=n: log.append((n, ch.receive())))()
    stackless.run()
    assert ch.balance == -5
    for n in range(5):
        ch.send(n)
    stackless.run()
    assert log == [(n, n) for n in range(5)]


def test_derived_classes(mode):
    """Spec 4, channel(): can be derived from, methods overridden, attributes added."""

    class Mine(stackless.channel):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def send(self, value):
            super().send((self.name, value))

    ch = Mine("a")
    log = []
    stackless.tasklet(lambda: log.append(ch.receive()))()
    stackless.run()
    ch.send(1)
    assert log == [("a", 1)]


def test_weak_references():
    """Spec 4, channel(): can be referred to weakly."""
    ch = stackless.channel()
    ref = weakref.ref(ch)
    assert ref() is ch
    del ch
    gc.collect()
    assert ref() is None


@pytest.mark.parametrize(("method", "args"), [("send", (1,)), ("receive", ())])
def test_a_failed_action_changes_nothing(method, args, raises, mode):
    """Spec 4, a failed action: the channel and the run queue are as before it."""
    ch = stackless.channel()
    queued = stackless.tasklet(lambda: None)()
    main = stackless.getcurrent()
    main.block_trap = True
    with raises(RuntimeError, "this tasklet does not like to be blocked."):
        getattr(ch, method)(*args)
    main.block_trap = False
    ch.close()
    with raises(ValueError, "Send/receive operation on a closed channel"):
        getattr(ch, method)(*args)
    assert (ch.balance, ch.queue) == (0, None)
    assert [main.next, main.prev, main.blocked] == [queued, queued, False]
    stackless.run()
