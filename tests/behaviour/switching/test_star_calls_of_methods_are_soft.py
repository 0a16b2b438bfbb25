"""method(*args, **kwargs) is soft while the method's Python function blocks."""

import functools
import gc
import platform
import sys
import weakref

import pytest

import loomlet
from loomlet import Channel

# What the C code owns is found by the return addresses on its stack.
SHOWS = platform.machine() == "x86_64"


class Receiver:
    def __init__(self, ch=None):
        self.ch = ch

    def receive(self, *args, **kwargs):
        every = (self.ch, *args, *kwargs.values())
        return next(each for each in every if isinstance(each, Channel)).receive()

    @classmethod
    def receive_by_class(cls, *args, **kwargs):
        return cls().receive(*args, **kwargs)

    def pass_on(self, *args, **kwargs):
        return self.receive(*args, **kwargs)

    def named(self, first, /, ch, *, last=()):
        return [ch.receive(), first, last][0]


def no_arguments(ch, arguments=()):
    return Receiver(ch).receive(*arguments)


def no_names(ch):
    return Receiver(ch).receive(*(), **{})


def one(ch):
    arguments = (ch,)
    return Receiver().receive(*arguments)


def four(ch):
    return Receiver().receive(object(), *(ch, "3", 4.5), **{})


def names(ch, **kwargs):
    return Receiver().receive(ch=ch, **kwargs)


def many_names(ch):
    return Receiver().receive(**{f"name {i}": object() for i in range(50)}, ch=ch)


def both(ch):
    return Receiver().receive(1, 2, 3, 4, 5, 6, *(ch, 8), **{"a": 1, "b": ch})


def known_method(ch):
    method = Receiver().receive
    arguments, kwargs = (1, ch), {"name": 1}
    return method(*arguments, **kwargs)


def by_class(ch):
    return Receiver.receive_by_class(*(ch,), **{"name": 1})


def one_below_another(ch):
    return Receiver().pass_on(*(1,), **{"ch": ch})


def declared_names(ch):
    return Receiver().named(*(1,), **{"last": 3, "ch": ch})


def decorated(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs)

    return call


def in_a_decorator(ch):
    return decorated(Receiver().receive)(1, ch, name=2)


def in_an_expression(ch):
    return (1, [2, Receiver().receive(*(), **{"ch": ch})], 3)[1][1]


SOFT = [no_arguments, no_names, one, four, names, many_names, both, known_method, by_class,
        one_below_another, declared_names, in_a_decorator, in_an_expression]  # fmt: skip


def five(ch):
    return Receiver().receive(*(1, 2, 3, 4, ch))


def a_list(ch):
    arguments = [1, ch]
    return Receiver().receive(*arguments)


def an_iterator(ch):
    return Receiver().receive(*iter((1, ch)), **{"name": 1})


class Called:
    def __call__(self, *args, **kwargs):
        return Receiver().receive(*args, **kwargs)


def an_object(ch):
    return Called()(*(1,), **{"ch": ch})


def a_method_of_an_object(ch):
    method = type(Receiver().receive)(Called(), None or ch)
    return method(*(1,), **{"name": 1})


OTHER = [five, a_list, an_iterator, an_object, a_method_of_an_object]


@pytest.mark.skipif(not SHOWS, reason="no return addresses are known here")
@pytest.mark.parametrize("rounds", [1, 100])
@pytest.mark.parametrize("body", SOFT)
def test_the_switch_is_soft(body, rounds, ends, switches):
    """A method is called softly, cold and warm."""
    ends.stays_soft(body, rounds, switches)


@pytest.mark.parametrize("body", SOFT + OTHER)
def test_every_end(body, ends, mode):
    """A value, an exception, and the end of the tasklet leave nothing behind."""
    assert ends.value(body) == 5
    assert ends.thrown(body)[0] == body.__name__
    watched = (Receiver, Called, *(getattr(Receiver, name) for name in ("receive", "pass_on")))
    ends.leave_nothing(body, *watched, soft=SHOWS and body in SOFT)


@pytest.mark.parametrize("body", SOFT + OTHER)
def test_no_memory_is_left(body, ends, mode):
    """Neither the arguments nor what the C code made of them."""

    def rounds(count):
        for _ in range(count):
            assert ends.value(body) == 5
        gc.collect()
        return sys.getallocatedblocks()

    rounds(20)
    before = rounds(10)
    assert rounds(1000) < before + 200


@pytest.mark.parametrize("kwargs", [{}, {"name": 1}])
def test_the_arguments_are_released(kwargs, mode):
    """Nothing keeps the arguments after the call."""

    class Argument:
        pass

    def body(ch, argument):
        return Receiver().receive(argument, *(ch,), **kwargs)

    ch = Channel()
    task = loomlet.spawn(body, ch, argument := Argument())
    loomlet.schedule()
    gone = weakref.ref(argument)
    ch.send(5)
    assert task.result() == 5
    del task, argument
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("names", [{}, {"name": 1}])
def test_a_destructor_is_not_taken_for_the_method(names, mode):
    """An argument that dies after the call may run the function that the call ran."""

    class Both:
        def receive(self, *args, **kwargs):
            return [channel.receive(), args][0]

        __del__ = receive

    class Keeper:
        receive = Both.receive

    channel, keeper = Channel(), Keeper()
    task = loomlet.spawn(lambda: keeper.receive(*(Both(),), **names))
    for value in range(2):
        loomlet.schedule()
        channel.send(value)
    assert task.result() == 0


def test_a_method_that_dies_with_the_call(mode):
    """Its object runs the same function when the interpreter drops it, after the call."""

    class Both:
        def receive(self, **kwargs):
            return [channel.receive(), kwargs][0]

        __del__ = receive

    channel = Channel()
    task = loomlet.spawn(lambda: Both().receive(**{"name": 1}))
    for value in range(2):
        loomlet.schedule()
        channel.send(value)
    assert task.result() == 0


@pytest.mark.skipif(not SHOWS, reason="such a tasklet keeps a C stack here")
def test_it_freezes_in_the_call(switches):
    """What waits so is frozen, and goes on in the thawed copy."""

    def body(ch):
        return [Receiver().receive(1, **{"ch": ch}), "and on"]

    def send(ch):
        loomlet.sleep(0.001)
        ch.send(5)

    ch = Channel()
    tasks = [loomlet.spawn(body, ch), loomlet.spawn(send, ch)]
    loomlet.schedule()
    copies = loomlet.thaw(loomlet.freeze(tasks))
    for task in (tasks[0], copies[0]):
        assert task.result() == [5, "and on"]
