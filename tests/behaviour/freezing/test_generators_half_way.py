"""Generators, coroutines and async generators that are held by a frozen tasklet."""

import types

import pytest
from helpers_frozen_tasklets import resumed, waiting

import loomlet
from loomlet import Channel


def counting(start):
    total = start
    try:
        while True:
            total += yield total
    finally:
        CLOSED.append(total)


CLOSED = []


def test_in_the_middle(copied):
    """Both continue from there, each with its own variables."""
    source = counting(10)
    next(source)
    source.send(1)
    copy = copied(source)
    assert (copy.send(5), source.send(2), copy.send(1)) == (16, 13, 17)
    copy.close()
    assert CLOSED[-1] == 17


def test_new_and_ended(copied):
    """Before the first and behind the last step."""
    fresh, ended = counting(3), counting(4)
    next(ended)
    ended.close()
    one, other = copied([fresh, ended])
    assert next(one) == 3
    assert list(other) == []
    assert (other.__name__, other.__qualname__) == ("counting", "counting")


def test_names(copied):
    """Its own name and that of its function."""
    source = counting(1)
    source.__name__, source.__qualname__ = "n", "q"
    copy = copied(source)
    assert (copy.__name__, copy.__qualname__) == ("n", "q")


def test_generators_in_generators(copied):
    """yield from, and a chain of expressions."""

    def outer():
        yield from (2 * n for n in inner())

    def inner():
        yield from [1, 2, 3]

    source = outer()
    next(source)
    assert list(copied(source)) == [4, 6]


def test_a_generator_that_is_handling_an_exception(copied):
    """What it raises again is the one that it caught."""

    def steps():
        try:
            raise KeyError("inside")
        except KeyError:
            yield 1
            raise

    source = steps()
    next(source)
    with pytest.raises(KeyError, match="inside"):
        next(copied(source))


def test_a_generator_that_knows_itself(copied):
    """A circle through a cell of its function."""

    def make():
        def steps():
            yield 1
            yield source

        source = steps()
        next(source)
        return source

    copy = copied(make())
    assert next(copy) is copy


@types.coroutine
def pause(value):
    return (yield value)


async def work(log):
    log.append(await pause("first"))
    log.append(await pause("second"))
    return log


def test_coroutines(copied):
    """At an await; new; ended."""
    task, fresh, ended = work([]), work([]), work([])
    task.send(None)
    ended.close()
    copy, new, done = copied([task, fresh, ended])
    assert copy.send(5) == "second"
    with pytest.raises(StopIteration) as end:
        copy.send(6)
    assert end.value.value == [5, 6]
    assert new.send(None) == "first"
    with pytest.raises(RuntimeError, match="cannot reuse"):
        done.send(None)
    for one in (task, fresh, new):
        one.close()


async def letters(text):
    for letter in text:
        yield letter


def step(source):
    """The next item of an async generator that does not wait."""
    try:
        source.__anext__().send(None)
    except StopIteration as end:
        return end.value


def test_async_generators(copied):
    """Between two items; new; ended."""
    source, fresh, ended = letters("abc"), letters("x"), letters("")
    assert step(source) == "a"
    with pytest.raises(StopAsyncIteration):
        step(ended)
    copy, new, done = copied([source, fresh, ended])
    assert (step(copy), step(source), step(copy), step(new)) == ("b", "b", "c", "x")
    with pytest.raises(StopAsyncIteration):
        step(done)


def reads(ch):
    def values():
        while True:
            yield ch.receive()

    source = values()
    found = []
    for value in source:
        found.append(value)
        if len(found) == 3:
            return found, source.gi_running


def test_a_running_generator_that_its_tasklet_holds():
    """A generator whose frame is the tasklet's and which is also in a variable stays one."""
    task = loomlet.thaw(loomlet.freeze(waiting(reads, Channel())))
    task.waiting_for.send(1)
    loomlet.schedule()
    task = loomlet.thaw(loomlet.freeze(task))
    task.waiting_for.send(2)
    loomlet.schedule()
    task = loomlet.thaw(loomlet.freeze(task))
    assert resumed(task, 3) == ([1, 2, 3], False)


def test_a_generator_that_runs_in_another_tasklet():
    """That tasklet is frozen with it."""
    box = []

    def runs(ch):
        def values():
            yield ch.receive()

        box.append(values())
        for value in box[0]:
            return value

    def looks(ch):
        ch.receive()
        return box[0].gi_running

    waiting(runs, Channel())
    copy = loomlet.thaw(loomlet.freeze(waiting(looks, Channel())))
    assert resumed(copy) is True


def test_a_generator_that_runs_right_now():
    """Cannot be frozen: it is in the middle of an instruction."""

    def body(ch, source):
        ch.receive()

    def values():
        task = waiting(body, Channel(), source)
        yield loomlet.why_not_freezable(task)

    source = values()
    assert "is running outside of a tasklet" in next(source)
