"""How the function was looked up does not matter."""

import loomlet
from loomlet import Channel


def stored(ch):
    receive = ch.receive
    return receive()


def from_the_class(ch):
    return Channel.receive(ch)


class Inherited(Channel):
    pass


class Wrapped(Channel):
    def receive(self):
        return super().receive()


def check(switches, make, call):
    for n in range(20):
        ch = make()
        task = loomlet.spawn(call, ch)
        switches.take()
        loomlet.schedule()
        assert switches.take() == (1, 0)
        ch.send(n)
        assert task.result() == n


def test_a_stored_bound_method(switches):
    """A bound method kept in a variable suspends softly."""
    check(switches, Channel, stored)


def test_the_function_of_the_class(switches):
    """Channel.receive(channel) suspends softly."""
    check(switches, Channel, from_the_class)


def test_an_inherited_method(switches):
    """A method that a subclass inherits suspends softly."""
    check(switches, Inherited, lambda ch: ch.receive())


def test_a_method_called_through_super(switches):
    """An override that calls super() suspends softly."""
    check(switches, Wrapped, lambda ch: ch.receive())


def test_a_tasklet_of_a_bound_method(switches):
    """spawn(object.method) starts as its function: it can be soft."""

    class Worker:
        def work(self, ch):
            return ch.receive()

    check(switches, Channel, Worker().work)
