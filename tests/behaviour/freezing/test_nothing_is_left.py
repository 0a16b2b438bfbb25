"""Freezing and thawing, again and again, leaves no object, reference or block of memory behind.

The counts grow by themselves now and then: a table of the interpreter gets larger, a free list
fills.  A leak of each round, or of each thousandth, makes them grow in every stretch of rounds.
So several stretches are measured, and in one of them at least nothing may have grown.

The interpreter's cache of attributes keeps the names that were looked up, up to 4096 strings.  An
unpickler reads a new string for each name that it looks up, so this cache fills slowly, with
pickles of anything: ordinary ones are the control experiment.  It is emptied before each count.
"""

import array
import gc
import itertools
import pickle
import sys

import helpers_chains
import helpers_freezing_steps
import helpers_frozen_tasklets
import pytest

import loomlet
from loomlet import Channel
from loomlet.testing._leaks import clear_caches

ROUNDS = 150
MANY = 1000
STRETCHES = 5
SOME = ("one_call", "nested_calls", "inside_a_generator", "traceback_in_flight", "over_tees")
FREE_THREADED = "t" in sys.abiflags


def there_and_back(name, rounds):
    for _ in range(rounds):
        task = helpers_freezing_steps.begin(name)
        copy = loomlet.thaw(loomlet.freeze(task))
        again = loomlet.clone(copy)
        for one in (again, copy, task):
            one.throw(loomlet.TaskletExit)


def counted(*objects):
    """Objects, references to the given ones, blocks.

    A free-threaded Python gives references and blocks back when it likes.
    """
    gc.collect()
    clear_caches()
    if FREE_THREADED:
        return (len(gc.get_objects()),)
    references = [sys.getrefcount(thing) for thing in objects]
    return (len(gc.get_objects()), *references, sys.getallocatedblocks())


def grown(work, rounds, *objects):
    """By how much each count grows in the stretch in which it grows least."""
    work(rounds)
    size = len(counted(*objects))
    counts = array.array("q", bytes(8 * size * (STRETCHES + 1)))  # takes no memory while it fills
    for stretch in range(STRETCHES + 1):
        for place, count in enumerate(counted(*objects)):
            counts[place * (STRETCHES + 1) + stretch] = count
        work(rounds)
    columns = [
        counts[place : place + STRETCHES + 1] for place in range(0, len(counts), STRETCHES + 1)
    ]
    return [max(0, min(y - x for x, y in itertools.pairwise(column))) for column in columns]


@pytest.mark.parametrize("name", SOME)
def test_objects_and_memory(name):
    """As many objects and blocks after many rounds as after few."""
    assert set(grown(lambda rounds: there_and_back(name, rounds), ROUNDS)) == {0}


def test_failures():
    """Nor do freezes and thaws that fail."""

    def fails(rounds):
        for _ in range(rounds):
            task = helpers_freezing_steps.begin("closure_cells")
            data = loomlet.freeze(task)
            with pytest.raises(loomlet.ThawError):
                loomlet.thaw(data[:-3])
            with pytest.raises(loomlet.FreezeError):
                loomlet.freeze([task, loomlet.current()])
            task.kill()

    assert set(grown(fails, ROUNDS)) == {0}


def frozen_again(task):
    def work(rounds):
        for _ in range(rounds):
            loomlet.thaw(loomlet.freeze(task)).kill()

    return work


def cloned_again(task):
    def work(rounds):
        for _ in range(rounds):
            loomlet.clone(task).kill()

    return work


def nested():
    """A function that no other process can import: it is frozen by value."""
    count = 0

    def inside(ch, *, step=1):
        nonlocal count
        for value in (ch.receive() for _ in range(3)):
            count += value * step
        return count

    return inside


FUNCTIONS = {"by_name": helpers_chains.chains()["inside_a_generator"], "by_value": nested()}
WAYS = {"frozen": frozen_again, "cloned": cloned_again}


@pytest.fixture(params=FUNCTIONS)
def task(request):
    """A tasklet that waits during the whole test."""
    task = helpers_frozen_tasklets.waiting(FUNCTIONS[request.param], Channel())
    yield task
    task.kill()


@pytest.mark.parametrize("way", WAYS)
def test_many_rounds(task, way):
    """Objects, references to its functions and cells, blocks of memory."""
    function = loomlet._core._tasklet_snapshot(task)[0]
    assert set(grown(WAYS[way](task), MANY, function, function.__code__, task.waiting_for)) == {0}


@pytest.mark.slow
def test_a_hundred_thousand_rounds(task):
    """A leak of one object in ten thousand rounds."""
    function = loomlet._core._tasklet_snapshot(task)[0]
    rounds = 100_000 // (STRETCHES + 2)
    assert set(grown(frozen_again(task), rounds, function, function.__code__)) == {0}


@pytest.mark.skipif(
    FREE_THREADED or not sys.getallocatedblocks(), reason="blocks are not counted here"
)
def test_ordinary_pickles_fill_the_same_cache():
    """The control experiment: blocks that are left by them as well, and freed with that cache."""
    kept = []
    for number in range(5000):
        kept.append(pickle.loads(pickle.dumps([range, number])))
        kept = kept[-number % 97 :]
    before = sys.getallocatedblocks()
    clear_caches()
    assert sys.getallocatedblocks() < before


def test_all_chains_are_there():
    """The names above exist."""
    assert set(SOME) <= helpers_chains.chains().keys()
