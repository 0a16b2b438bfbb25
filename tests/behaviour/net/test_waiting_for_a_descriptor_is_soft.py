"""A tasklet that waits for a descriptor keeps no C stack, however deep its callers are."""

import pytest

import loomlet
from loomlet import net

CALLS = {
    "receive_some()": lambda stream: stream.receive_some(),
    "receive_some(9)": lambda stream: stream.receive_some(9),
    "receive_exactly(4)": lambda stream: stream.receive_exactly(4),
    "receive_into(b)": lambda stream: stream.receive_into(bytearray(4)),
    "wait_readable()": lambda stream: stream.wait_readable(),
    "for": lambda stream: first(stream),
    "*args": lambda stream: stream.receive_some(*(4,)),
}


def first(stream):
    for data in stream:
        return data


@pytest.mark.parametrize("call", CALLS)
def test_reading_is_soft(switches, streams, call):
    """Called as a method, in a loop, with star arguments."""
    one, other = streams
    task = loomlet.spawn(CALLS[call], one)
    loomlet.schedule()
    assert switches.take() == (1, 0)
    other.send_all(b"data")
    assert task.result() in (b"data", 4, None)


def test_writing_is_soft(switches, streams, fill):
    """send_all() that has to wait."""
    one, _ = streams
    fill(one)
    task = loomlet.spawn(lambda: one.send_all(bytes(1000)))
    switches.take()
    loomlet.schedule()
    assert switches.take() == (1, 0)
    task.kill()


def test_accepting_and_connecting_are_soft(switches, listener):
    """accept() and the loop over a listener."""
    tasks = [loomlet.spawn(lambda: listener.accept()), loomlet.spawn(loop, listener)]
    loomlet.schedule()
    assert switches.take() == (2, 0)
    for task in tasks:
        with net.connect(listener.local):
            task.result().close()


def loop(listener):
    for stream in listener:
        return stream


def test_deep_callers_cost_nothing(switches, pair):
    """At any depth of Python calls, in a generator, in a `with`."""
    one, other = pair

    def deep(n):
        if n:
            return deep(n - 1)
        with loomlet.Lock():
            return [data for data in lines()]

    def lines():
        yield one.receive_some()

    task = loomlet.spawn(deep, 50)
    loomlet.schedule()
    assert switches.take() == (1, 0)
    other.send_all(b"line")
    assert task.result() == [b"line"]


def test_below_c_code_it_is_hard_and_works(pair):
    """sorted() keeps its C stack."""
    one, other = pair
    task = loomlet.spawn(sorted, [1, 2], key=lambda _: one.receive_exactly(1))
    loomlet.schedule()
    other.send_all(b"ba")
    assert task.result() == [2, 1]
