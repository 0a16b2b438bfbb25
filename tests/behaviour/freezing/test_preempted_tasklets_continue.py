"""A tasklet that was interrupted between two instructions is frozen there, and continues there.

It is left softly at the beginning of a function and at a jump back; elsewhere the error says where
it was interrupted and what to do.
"""

import pytest

import loomlet
from loomlet import _core

SLICE = 0.0005
SAFEPOINTS = 499


def counts(rounds):
    total = 0
    for number in range(rounds):
        total += number
    return total


def calls(rounds):
    def add(total, number):
        return total + number

    total = 0
    number = 0
    while number < rounds:
        total = add(total, number)
        number += 1
    return total


def generates(rounds):
    def numbers():
        for number in range(rounds):
            yield number + 0

    total = 0
    for number in numbers():
        total += number
    return total


def handles(rounds):
    total = 0
    for number in range(rounds):
        try:
            total += [number][number & 1]
        except IndexError:
            total += number
    return total


def calls_c(rounds):
    total = 0
    for number in range(rounds):
        total += abs(number)
    return total


def frozen_at_each_turn(call, rounds):
    """The result, and how often it could be frozen and could not."""
    task = loomlet.spawn(call, rounds)
    loomlet.schedule()
    frozen, refused = 0, []
    task.remove()
    while task.state == "paused":  # and not done: we are interrupted, too
        why = loomlet.why_not_freezable(task)
        if why is None:
            data = loomlet.freeze(task)
            task.kill()
            task = loomlet.thaw(data)
            assert task.state == "paused"
            frozen += 1
        else:
            refused.append(why)
        task.insert()
        loomlet.schedule()
        task.remove()
    return task.result(), frozen, refused


def assert_all_preempted(reasons):
    """Another thread that wants the GIL, or a signal, makes any of them hard."""
    assert [why for why in reasons if "preempted at" not in why or "let it reach" not in why] == []


@pytest.fixture(autouse=True)
def _not_traced():
    if _core.SOFT_SUPPORTED and not _core.soft():
        pytest.skip("soft switching is off")


@pytest.mark.parametrize("call", [counts, calls, generates, handles])
def test_it_continues_where_it_was_interrupted(call):
    """Many times in one run, with the result of an undisturbed one.  Slices are counted: whether
    the clock interrupts it depends on the machine's load."""
    rounds = 300_000

    def main():
        _core._slice_budget(SAFEPOINTS)
        try:
            return frozen_at_each_turn(call, rounds)
        finally:
            _core._slice_budget(0)

    result, frozen, refused = loomlet.run(main, slice=None)
    assert result == sum(range(rounds))
    assert frozen > 0
    assert_all_preempted(refused)


def test_one_that_was_interrupted_behind_a_call_of_c_says_so():
    """Paused or ready: what keeps its C stack is the interruption, not the instruction there."""

    def main():
        _core._slice_budget(1)
        try:
            return frozen_at_each_turn(calls_c, 200)
        finally:
            _core._slice_budget(0)

    result, frozen, refused = loomlet.run(main, slice=None)
    assert result == sum(range(200))
    assert frozen > 0
    assert refused != []
    assert_all_preempted(refused)


def test_an_exception_can_be_thrown_into_the_copy():
    """Its handlers are those around the place."""

    def main():
        def spins():
            try:
                while True:
                    pass
            except KeyError:
                return "caught"

        task = loomlet.spawn(spins)
        while True:
            loomlet.schedule()
            task.remove()
            if loomlet.why_not_freezable(task) is None:
                break
            task.insert()
        copy = loomlet.thaw(loomlet.freeze(task))
        task.kill()
        copy.throw(KeyError)
        return copy.result()

    assert loomlet.run(main, slice=SLICE) == "caught"
