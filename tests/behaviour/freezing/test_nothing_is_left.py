"""Freezing and thawing, again and again, leaves no object behind."""

import gc
import sys

import chains
import pytest
import steps

import loomlet

ROUNDS = 150
SOME = ("one_call", "nested_calls", "inside_a_generator", "traceback_in_flight", "over_tees")


def there_and_back(name, rounds):
    for _ in range(rounds):
        task = steps.begin(name)
        copy = loomlet.thaw(loomlet.freeze(task))
        again = loomlet.clone(copy)
        for one in (again, copy, task):
            one.throw(loomlet.TaskletExit)


def counted():
    """Objects and blocks; a free-threaded Python gives blocks back when it likes."""
    gc.collect()
    blocks = 0 if "t" in sys.abiflags else sys.getallocatedblocks()
    return len(gc.get_objects()), blocks


@pytest.mark.parametrize("name", SOME)
def test_objects_and_memory(name):
    """As many objects and blocks after many rounds as after few."""
    there_and_back(name, ROUNDS)
    objects, blocks = counted()
    there_and_back(name, ROUNDS)
    more_objects, more_blocks = counted()
    assert more_objects - objects < ROUNDS / 10
    assert more_blocks - blocks < 3 * ROUNDS


def test_failures():
    """Nor do freezes and thaws that fail."""

    def fails(rounds):
        for _ in range(rounds):
            task = steps.begin("closure_cells")
            data = loomlet.freeze(task)
            with pytest.raises(loomlet.ThawError):
                loomlet.thaw(data[:-3])
            with pytest.raises(loomlet.FreezeError):
                loomlet.freeze([task, loomlet.current()])
            task.kill()

    fails(ROUNDS)
    objects, blocks = counted()
    fails(ROUNDS)
    more_objects, more_blocks = counted()
    assert more_objects - objects < ROUNDS / 10
    assert more_blocks - blocks < 3 * ROUNDS


def test_all_chains_are_there():
    """The names above exist."""
    assert set(SOME) <= chains.chains().keys()
