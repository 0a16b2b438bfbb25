"""Objects of the standard library that pickle refuses, in the variables of a frozen tasklet."""

import functools
import os
import queue
import random
import re
import sys
import tempfile
import threading
import weakref

import pytest

import loomlet
from loomlet import freeze, spawn, thaw

pytestmark = pytest.mark.usefixtures("switches")


def hold(value, use):
    loomlet.schedule()
    return use(value)


def through(value, use):
    """What use(value) gives where the tasklet that holds the value has been thawed."""
    task = spawn(hold, value, use)
    loomlet.schedule()
    data = freeze(task.remove())
    task.discard()
    return thaw(data).insert().result()


def held(value):
    """The message of the error."""
    task = spawn(hold, value, id)
    loomlet.schedule()
    with pytest.raises(loomlet.FreezeError) as caught:
        freeze(task.remove())
    task.discard()
    return str(caught.value)


def itself(value):
    return value


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr", "__stderr__"])
def test_the_streams_of_the_process(name):
    stream = getattr(sys, name)
    if type(stream) is not type(sys.__stdout__):
        pytest.skip(f"pytest has put another object there: {type(stream).__name__}")
    assert through(stream, itself) is stream


def test_the_environment_is_that_of_the_process(monkeypatch):
    assert through(os.environ, itself) is os.environ
    assert through(os.environb, itself) is os.environb


def test_free_locks():
    assert through(threading.Lock(), lambda lock: lock.acquire(False))
    assert through(threading.RLock(), lambda lock: lock.acquire(False))


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
def test_locks_that_are_held(make):
    lock = make()
    with lock:
        assert "is held" in held(lock)


def test_events():
    event = threading.Event()
    event.set()
    assert through(event, lambda event: event.is_set())
    event.clear()
    assert not through(event, lambda event: event.wait(0))


def test_semaphores_and_conditions():
    assert through(
        threading.Semaphore(2), lambda each: [each.acquire(False) for _ in range(3)]
    ) == [
        True,
        True,
        False,
    ]

    def use(condition):
        with condition:
            condition.notify_all()
        return True

    assert through(threading.Condition(), use)


def test_queues():
    jobs = queue.Queue(3)
    jobs.put("a")
    jobs.put("b")
    assert through(jobs, lambda jobs: [jobs.get(), jobs.get(), jobs.empty(), jobs.maxsize]) == [
        "a",
        "b",
        True,
        3,
    ]


@pytest.mark.parametrize(
    "match",
    [
        re.search(r"(b+)(c)?", "aabbd"),
        re.match(r"a*", "aabb"),
        re.fullmatch(r"(?P<name>\w+)", "aabb"),
        re.compile(r"b").search("abab", 2),
        [*re.finditer(r"\w", "ab cd")][2],
        re.search(rb"b", b"abc"),
    ],
)
def test_matches(match):
    again = through(match, itself)
    assert (again.group(), again.groups(), again.span(), again.string, again.re) == (
        match.group(),
        match.groups(),
        match.span(),
        match.string,
        match.re,
    )


def test_cached_functions():
    calls = []

    @functools.lru_cache(maxsize=7)
    def square(n):
        calls.append(n)
        return n * n

    assert square(3) == 9
    used = through(square, lambda f: (f(3), f(3), f.cache_info().misses, f.cache_info().maxsize))
    assert used == (9, 9, 1, 7)


@functools.cache
def cube(n):
    return n**3


def test_a_cached_function_of_a_module_goes_by_name():
    assert through(cube, itself) is cube


def test_weak_references():
    class Thing:
        pass

    thing = Thing()
    assert through((thing, weakref.ref(thing)), lambda both: both[1]() is both[0])
    gone = weakref.ref(Thing())
    assert through(gone, lambda reference: reference() is None)
    assert "has a callback" in held(weakref.ref(thing, print))


def test_random_numbers_of_the_system():
    assert 0 <= through(random.SystemRandom(), lambda each: each.random()) < 1


def test_a_temporary_directory_is_refused():
    """Its bytes would outlive the folder."""
    with tempfile.TemporaryDirectory() as path:
        assert through(path, itself) == path
    folder = tempfile.TemporaryDirectory()
    with folder:
        words = held(folder)
    assert "local variable 'value' of type tempfile.TemporaryDirectory" in words
    assert "keep a path to a folder that stays" in words
