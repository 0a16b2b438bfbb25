"""Which of several scopes around a Cancelled catches it."""

import itertools

import pytest

import loomlet
from loomlet import CancelScope

DEPTH = 3
CHOICES = list(itertools.product([False, True], repeat=DEPTH))


def catcher(cancelled, shields):
    """The index (0 is outermost) of the scope that must catch: the rule, written as a table."""
    seen = None
    for index in reversed(range(DEPTH)):
        if cancelled[index]:
            seen = index
        if shields[index] and seen is not None:
            return seen
    return seen


def reaches_the_block(cancelled, shields):
    for index in reversed(range(DEPTH)):
        if cancelled[index]:
            return True
        if shields[index]:
            return False
    return False


@pytest.mark.parametrize("shields", CHOICES)
@pytest.mark.parametrize("cancelled", CHOICES)
def test_three_scopes(cancelled, shields):
    """For each choice of cancelled scopes and shields, exactly the expected scope catches."""
    scopes = [CancelScope(shield=shield) for shield in shields]
    ends = []
    with scopes[0]:
        with scopes[1]:
            with scopes[2]:
                for scope, wanted in zip(scopes, cancelled, strict=True):
                    if wanted:
                        scope.cancel()
                loomlet.schedule()
                ends.append(2)
            ends.append(1)
        ends.append(0)
    loomlet.schedule()
    caught = [scope.cancelled_caught for scope in scopes]
    if not reaches_the_block(cancelled, shields):
        assert (ends, caught) == ([2, 1, 0], [False] * DEPTH)
        return
    by = catcher(cancelled, shields)
    assert caught == [index == by for index in range(DEPTH)]
    assert ends == list(range(by - 1, -1, -1))


def test_the_outer_scope_continues_after_the_inner():
    """An inner cancel ends the inner block only."""
    log = []
    with CancelScope() as outer:
        with CancelScope() as inner:
            inner.cancel()
            loomlet.schedule()
        loomlet.schedule()
        log.append("behind the inner one")
    assert (outer.cancelled_caught, inner.cancelled_caught) == (False, True)
    assert log == ["behind the inner one"]


def test_a_cancel_between_two_exits(mode):
    """A scope further out that is cancelled once the inner one has caught cancels what follows."""
    log = []
    with CancelScope() as outer:
        with CancelScope() as inner:
            inner.cancel()
            loomlet.schedule()
        outer.cancel()
        log.append("computes")
        loomlet.schedule()
        log.append("never")
    assert inner.cancelled_caught
    assert outer.cancelled_caught
    assert log == ["computes"]


def test_a_cancel_during_the_clean_up_of_an_inner_one(mode):
    """It takes the Cancelled that is on its way over: the outer scope catches it."""
    log = []
    with CancelScope() as outer:
        with CancelScope() as inner:
            inner.cancel()
            try:
                loomlet.schedule()
            finally:
                outer.cancel()
        log.append("never")
    assert (outer.cancelled_caught, inner.cancelled_caught) == (True, False)
    assert log == []
