"""A channel without capacity: sender and receiver meet."""

import loomlet
from loomlet import Channel


def test_the_sender_waits_for_the_receiver(mode):
    """send() returns when a receiver has taken the value."""
    log = []

    def sender(ch):
        log.append(ch.send("value"))

    ch = Channel()
    task = loomlet.spawn(sender, ch)
    loomlet.schedule()
    assert (log, task.state, ch.balance, len(ch)) == ([], "blocked", 1, 0)
    assert ch.receive() == "value"
    assert task.state == "runnable"
    task.join()
    assert log == [None]


def test_the_receiver_waits_for_the_sender(mode):
    """receive() returns the value that a sender passes."""
    ch = Channel()
    task = loomlet.spawn(ch.receive)
    loomlet.schedule()
    assert (task.state, ch.balance) == ("blocked", -1)
    assert ch.send("value") is None
    assert ch.balance == 0
    assert task.result() == "value"


def test_the_value_is_handed_over_itself(mode):
    """The receiver gets the very object that was sent, whatever it is."""
    for value in (object(), None, False, (), ValueError("no exception here"), Channel()):
        ch = Channel()
        loomlet.spawn(lambda ch=ch, value=value: ch.send(value))
        assert ch.receive() is value


def test_senders_are_served_in_their_order(mode):
    """Values arrive in the order in which the senders began to wait."""
    ch = Channel()
    for n in range(10):
        loomlet.spawn(ch.send, n)
    loomlet.schedule()
    assert ch.balance == 10
    assert [ch.receive() for _ in range(10)] == list(range(10))


def test_receivers_are_served_in_their_order(mode):
    """The receiver that has waited longest gets the next value."""
    ch, log = Channel(), []

    def receiver(n):
        log.append((n, ch.receive()))

    for n in range(10):
        loomlet.spawn(receiver, n)
    loomlet.schedule()
    assert ch.balance == -10
    for n in range(10):
        ch.send(n)
    loomlet.schedule()
    assert log == [(n, n) for n in range(10)]


def test_a_partner_that_has_left_is_skipped(mode):
    """A waiter that is killed leaves its place in the queue, and its value with it."""
    ch = Channel()
    senders = [loomlet.spawn(ch.send, n) for n in range(3)]
    loomlet.schedule()
    senders[1].kill()
    assert ch.balance == 2
    assert [ch.receive(), ch.receive()] == [0, 2]
    assert ch.try_receive() == (False, None)


def test_ping_pong(mode):
    """Two tasklets that answer each other lose nothing in many rounds."""
    ping, pong = Channel(), Channel()

    def player():
        for value in ping:
            pong.send(value + 1)

    def main():
        value = 0
        for _ in range(1000):
            ping.send(value)
            value = pong.receive()
        ping.close()
        return value

    loomlet.spawn(player)
    assert loomlet.spawn(main).result() == 1000
