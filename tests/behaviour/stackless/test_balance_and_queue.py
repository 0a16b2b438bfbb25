"""balance and queue show which tasklets wait in a channel."""

import pytest

import loomlet.compat.stackless as stackless


def test_senders_count_up(mode):
    """Spec 4, channel.balance: the number of senders that wait."""
    ch = stackless.channel()
    seen = [ch.balance]
    for n in range(2):
        stackless.tasklet(ch.send)(n)
        stackless.run()
        seen.append(ch.balance)
    ch.receive()
    seen.append(ch.balance)
    ch.receive()
    assert [*seen, ch.balance] == [0, 1, 2, 1, 0]
    stackless.run()


def test_receivers_count_down(mode):
    """Spec 4, channel.balance: minus the number of receivers that wait."""
    ch = stackless.channel()
    seen = [ch.balance]
    for _ in range(2):
        stackless.tasklet(ch.receive)()
        stackless.run()
        seen.append(ch.balance)
    ch.send(None)
    seen.append(ch.balance)
    ch.send(None)
    assert [*seen, ch.balance] == [0, -1, -2, -1, 0]


def test_the_queue(mode):
    """Spec 4, channel.queue: the first waiter, then .next; None without waiters."""
    ch = stackless.channel()
    assert ch.queue is None
    tasks = [stackless.tasklet(ch.receive)() for _ in range(3)]
    stackless.run()
    walk, found = ch.queue, []
    while walk is not None:
        found.append(walk)
        walk = walk.next
    assert found == tasks
    ch.send(None)
    assert ch.queue is tasks[1]
    ch.send(None)
    ch.send(None)
    assert ch.queue is None


@pytest.mark.parametrize("name", ["balance", "queue"])
def test_they_cannot_be_set(name):
    """Spec 4, channel.balance: read-only, as is the queue."""
    with pytest.raises(AttributeError):
        setattr(stackless.channel(), name, None)
