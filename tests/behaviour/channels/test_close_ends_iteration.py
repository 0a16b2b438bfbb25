"""A loop over a channel ends when the channel is closed and drained."""

import loomlet
from loomlet import Channel


def collect(ch):
    got = []
    for value in ch:
        got.append(value)
    else:
        got.append("else")
    return got


def test_a_waiting_loop_ends(mode):
    """close() ends the loop of a tasklet that waits in it; else is reached."""
    ch = Channel()
    task = loomlet.spawn(collect, ch)
    loomlet.schedule()
    ch.send(1)
    loomlet.schedule()
    ch.close()
    assert task.result() == [1, "else"]


def test_all_waiting_loops_end(mode):
    """close() ends the loops of all waiters."""
    ch = Channel()
    tasks = [loomlet.spawn(collect, ch) for _ in range(5)]
    loomlet.schedule()
    ch.close()
    assert [task.result() for task in tasks] == [["else"]] * 5


def test_buffered_values_come_first(mode):
    """A loop over a closed channel gets what is buffered, then ends."""
    ch = Channel(3)
    for n in range(3):
        ch.send(n)
    ch.close()
    assert collect(ch) == [0, 1, 2, "else"]
    assert collect(ch) == ["else"]


def test_a_loop_that_is_left_may_be_taken_up_again(mode):
    """break leaves the channel as it is; another loop continues."""
    ch = Channel(5)
    for n in range(5):
        ch.send(n)
    ch.close()
    for first in ch:
        assert first == 0
        break
    assert collect(ch) == [1, 2, 3, 4, "else"]


def test_values_none_and_false_do_not_end_it(mode):
    """Only close() ends a loop, no value does."""
    ch = Channel(4)
    for value in (None, False, 0, StopIteration):
        ch.send(value)
    ch.close()
    assert collect(ch) == [None, False, 0, StopIteration, "else"]
