"""len, balance, capacity, closed, name, repr, truth."""

import pytest

import loomlet
from loomlet import Channel


def test_len_counts_buffered_values(mode):
    """len() is the number of values in the buffer; waiting senders do not count."""
    ch = Channel(2)
    counts = [len(ch)]
    for n in range(4):
        loomlet.spawn(ch.send, n)
        loomlet.schedule()
        counts.append(len(ch))
    for _ in range(4):
        ch.receive()
        counts.append(len(ch))
    assert counts == [0, 1, 2, 2, 2, 2, 2, 1, 0]


def test_balance_counts_waiters(mode):
    """balance is the number of waiting senders, or minus that of waiting receivers."""
    ch = Channel()
    for n in range(1, 4):
        loomlet.spawn(ch.receive)
        loomlet.schedule()
        assert ch.balance == -n
    for n in range(3):
        ch.send(n)
    for n in range(1, 4):
        loomlet.spawn(ch.send, n)
        loomlet.schedule()
        assert ch.balance == n


def test_a_channel_is_true():
    """A channel is true, also when its buffer is empty and when it is closed."""
    ch = Channel(1)
    assert bool(ch) is True
    ch.close()
    assert bool(ch) is True


def test_capacity():
    """capacity is as given; it cannot be changed."""
    assert Channel().capacity == 0
    assert Channel(3).capacity == 3
    assert Channel(capacity=10**9).capacity == 10**9
    with pytest.raises(AttributeError):
        Channel().capacity = 3


@pytest.mark.parametrize(
    ("wrong", "error"),
    [(-1, ValueError), ("3", TypeError), (1.5, TypeError), (10**30, OverflowError)],
)
def test_a_wrong_capacity(wrong, error):
    """A capacity is an int of 0 or more."""
    with pytest.raises(error):
        Channel(wrong)


def test_repr_shows_the_state(mode):
    """repr() shows the name, whether it is closed, the balance and the number of values."""
    ch = Channel(2)
    ch.send(1)
    assert "balance=0 len=1" in repr(ch)
    assert "closed" not in repr(ch)
    ch.close()
    assert "closed" in repr(ch)


def test_iter_of_a_channel_is_the_channel():
    """A channel is its own iterator."""
    ch = Channel()
    assert iter(ch) is ch
