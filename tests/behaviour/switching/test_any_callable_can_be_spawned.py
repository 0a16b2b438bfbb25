"""What a tasklet runs need not be a Python function."""

import functools

import loomlet
from loomlet import Channel


class Callable:
    def __init__(self, ch):
        self.ch = ch

    def __call__(self, *args, **kwargs):
        return self.ch.receive(), args, kwargs


def test_a_c_function(mode):
    """A C function, blocking or not, can be a tasklet's whole program."""
    ch = Channel()
    assert loomlet.spawn(len, "four").result() == 4
    task = loomlet.spawn(ch.receive)
    loomlet.schedule()
    assert task.state == "blocked"
    ch.send("value")
    assert task.result() == "value"


def test_a_partial(mode):
    """A partial object can be spawned, and block."""
    ch = Channel()
    task = loomlet.spawn(functools.partial(lambda a, b: (a, b, ch.receive()), 1), 2)
    loomlet.schedule()
    ch.send(3)
    assert task.result() == (1, 2, 3)


def test_an_object_with_call(mode):
    """An instance with __call__ can be spawned with arguments, and block."""
    ch = Channel()
    task = loomlet.spawn(Callable(ch), 1, two=2)
    loomlet.schedule()
    ch.send(0)
    assert task.result() == (0, (1,), {"two": 2})


def test_a_class(mode):
    """A class can be spawned; the result is its instance."""
    ch = Channel()
    task = loomlet.spawn(Callable, ch)
    assert task.result().ch is ch


def test_a_generator_function_gives_its_generator(mode):
    """Spawning a generator function makes a generator and runs none of it."""

    def generator():
        yield 1

    assert list(loomlet.spawn(generator).result()) == [1]


def test_a_c_function_is_killed(mode):
    """A tasklet without any Python frame can be killed and dropped."""
    ch = Channel()
    task = loomlet.spawn(ch.receive)
    loomlet.schedule()
    task.kill()
    assert task.state == "done"
    assert ch.balance == 0
