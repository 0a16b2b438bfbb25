"""functools.partial of a Python function is soft where its C code can be identified."""

import functools
import sys

import pytest

from loomlet import Channel

# On 3.12 a partial object hides itself from the frame when it is called with arguments.
SHOWS = sys.version_info >= (3, 13)


def receive(*args):
    return next(each for each in args if isinstance(each, Channel)).receive()


class Receiver:
    def receive(self, *args):
        return receive(*args)


def bare(ch):
    call = functools.partial(receive, ch)
    return call()


def many(ch):
    call = functools.partial(receive, ch, 1, 2, 3, 4, 5, 6)
    return call()


def method(ch):
    call = functools.partial(Receiver().receive, ch, 1)
    return call()


def one_in_front(ch):
    call = functools.partial(receive, 1)
    return call(ch, 2, 3)


def two_in_front(ch):
    call = functools.partial(receive, 1, 2)
    return call(ch)


def none_in_front(ch):
    call = functools.partial(receive)
    return call(ch)


def method_with_arguments(ch):
    call = functools.partial(Receiver().receive, 1)
    return call(ch)


def of_a_partial(ch):
    inner = functools.partial(receive, 1)
    outer = functools.partial(receive, inner)
    return outer(ch)


def in_an_expression(ch):
    call = functools.partial(receive, ch)
    return (1, [2, call()], 3)[1][1]


SOFT = [bare, many, method, in_an_expression]
WITH_ARGUMENTS = [one_in_front, two_in_front, none_in_front, method_with_arguments, of_a_partial]


def too_many(ch):
    call = functools.partial(receive, 1, 2, 3)
    return call(ch, 5, 6)


def keywords(ch):
    call = functools.partial(lambda ch, name: ch.receive(), name="name")
    return call(ch)


def keywords_given(ch):
    call = functools.partial(lambda ch, name: ch.receive(), ch)
    return call(name="name")


def temporary(ch):
    return functools.partial(receive, ch)()


class Subclass(functools.partial):
    pass


def of_a_subclass(ch):
    call = Subclass(receive, ch)
    return call()


OTHER = [too_many, keywords, keywords_given, temporary, of_a_subclass]


@pytest.mark.parametrize("rounds", [1, 100])
@pytest.mark.parametrize("body", SOFT + WITH_ARGUMENTS)
def test_the_switch_is_soft(body, rounds, ends, switches):
    """A partial object is called softly, cold and warm."""
    for _ in range(rounds):
        switches.take()
        assert ends.value(body) == 5
        if body in SOFT or SHOWS:
            assert switches.take() == (1, 0)


@pytest.mark.parametrize("body", SOFT + WITH_ARGUMENTS + OTHER)
def test_every_end(body, ends, mode):
    """A value, an exception, and the end of the tasklet leave nothing behind."""
    assert ends.value(body) == 5
    assert ends.thrown(body)[0] == body.__name__
    ends.leave_nothing(
        body, receive, Receiver.receive, functools.partial, Subclass, soft=body in SOFT
    )
