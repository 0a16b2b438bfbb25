"""seeded(n): a random order that can be repeated."""

import pytest

import loomlet
from loomlet.testing import seeded


def order(seed, count=8):
    """The order in which tasklets finish that switch a few times."""
    log = []

    def work(n):
        for _ in range(3):
            loomlet.schedule()
        log.append(n)

    with seeded(seed):
        tasks = [loomlet.spawn(work, n) for n in range(count)]
        for task in tasks:
            task.join()
    return tuple(log)


def test_the_same_seed_is_the_same_order():
    """Run by run."""
    assert [order(n) for n in range(20)] == [order(n) for n in range(20)]


def test_different_seeds_are_different_orders():
    """A hundred seeds are nearly a hundred orders of eight tasklets."""
    assert len({order(n) for n in range(1, 101)}) > 90


def test_few_seeds_meet_all_orders_of_a_small_program():
    """Three tasklets have six orders."""
    assert len({order(n, count=3) for n in range(1, 101)}) == 6


def test_seed_zero_is_the_ordinary_order():
    """First in, first out."""
    assert order(0) == tuple(range(8))


def test_the_order_from_before_comes_back():
    """First in, first out outside; the seed around continues as if the block had not been there."""

    def outer(nested):
        log = []
        with seeded(7):
            for turn in range(4):
                if nested and turn == 2:
                    with seeded(3):
                        pass
                tasks = [loomlet.spawn(log.append, (turn, n)) for n in range(6)]
                for task in tasks:
                    task.join()
        return log

    assert outer(nested=True) == outer(nested=False) != sorted(outer(nested=False))
    assert order(0) == tuple(range(8))


def test_after_a_failure_too():
    """The block's exception passes."""
    with pytest.raises(KeyError), seeded(5):
        raise KeyError
    assert order(0) == tuple(range(8))


def test_wrong_seeds():
    """A seed must not be negative."""
    with pytest.raises(ValueError, match="seed of 0 or more"):
        seeded(-1)
