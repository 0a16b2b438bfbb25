"""A channel with capacity keeps that many values without a receiver."""

import pytest

import loomlet
from loomlet import Channel


@pytest.mark.parametrize("capacity", [1, 2, 7, 8, 9, 100])
def test_values_come_out_in_their_order(capacity, mode):
    """The buffer is first in, first out, around its end and back, while it grows."""
    ch, got, sent = Channel(capacity), [], 0
    for turn in range(50):
        while len(ch) < capacity and sent < turn * 3:
            ch.send(sent)
            sent += 1
        for _ in range(min(len(ch), turn % 5)):
            got.append(ch.receive())
    while len(ch):
        got.append(ch.receive())
    assert got == list(range(sent))


def test_send_does_not_wait_while_there_is_room(mode):
    """The sender continues until the buffer is full, then it waits."""
    ch, log = Channel(3), []

    def sender():
        for n in range(5):
            ch.send(n)
            log.append(n)

    task = loomlet.spawn(sender)
    loomlet.schedule()
    assert log == [0, 1, 2]
    assert (task.state, ch.balance, len(ch)) == ("blocked", 1, 3)


def test_a_waiting_sender_moves_into_the_buffer(mode):
    """A receive makes room: the longest waiting sender's value enters the buffer, in order."""
    ch = Channel(2)
    senders = [loomlet.spawn(ch.send, n) for n in range(5)]
    loomlet.schedule()
    assert [task.state for task in senders] == ["done", "done", "blocked", "blocked", "blocked"]
    assert ch.receive() == 0
    assert (len(ch), ch.balance) == (2, 2)
    assert senders[2].state == "runnable"
    assert [ch.receive() for _ in range(4)] == [1, 2, 3, 4]
    loomlet.schedule()
    assert [task.state for task in senders] == ["done"] * 5


def test_a_new_sender_does_not_overtake(mode):
    """A value sent later never arrives before one that waits."""
    ch = Channel(1)
    for n in range(3):
        loomlet.spawn(ch.send, n)
    loomlet.schedule()
    got = [ch.receive()]
    loomlet.spawn(ch.send, 3)
    loomlet.schedule()
    got += [ch.receive() for _ in range(3)]
    assert got == [0, 1, 2, 3]


def test_a_waiting_receiver_is_served_without_the_buffer(mode):
    """A value sent to a waiting receiver does not stay in the buffer."""
    ch = Channel(5)
    task = loomlet.spawn(ch.receive)
    loomlet.schedule()
    ch.send("value")
    assert len(ch) == 0
    assert task.result() == "value"


def test_one_value_at_a_time(mode):
    """A producer and a consumer over a buffer of one keep the order."""
    ch, got = Channel(1), []

    def produce():
        for n in range(100):
            ch.send(n)
        ch.close()

    loomlet.spawn(produce)
    loomlet.spawn(lambda: got.extend([value for value in ch])).join()
    assert got == list(range(100))
