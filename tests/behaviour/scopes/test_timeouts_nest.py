"""A timeout never leaks into another."""

import itertools

import pytest

import loomlet
from loomlet import CancelScope, timeout


class Late(Exception):
    pass


def run(limits, work, clean_up):
    """Which of the nested timeouts (0 is outermost) raised TimeoutError; None when none did."""

    def level(index):
        if index == len(limits):
            try:
                loomlet.sleep(work)
            finally:
                with CancelScope(shield=True):
                    loomlet.sleep(clean_up)
            return
        try:
            with timeout(limits[index]):
                level(index + 1)
        except TimeoutError:
            raise Late(index) from None

    try:
        level(0)
    except Late as late:
        return late.args[0]
    return None


def expected(limits, work, clean_up):
    """The rule: the first deadline ends the work; of those over by then, the outermost raises."""
    first = min(limits)
    if first > work:
        return None
    return next(index for index, limit in enumerate(limits) if limit <= first + clean_up)


@pytest.mark.parametrize("clean_up", [0, 3, 100])
@pytest.mark.parametrize("limits", list(itertools.permutations([2, 4, 6])))
@pytest.mark.parametrize("work", [1, 3, 5, 7])
def test_only_one_of_them_raises(limits, work, clean_up, clock, mode):
    """Whichever order the deadlines have, the right one raises TimeoutError."""
    got = loomlet.spawn(run, limits, work, clean_up).result()
    assert got == expected(limits, work, clean_up)
    with timeout(1000):
        loomlet.sleep(1)


def test_the_same_deadline_belongs_to_the_outer_one(clock, mode):
    """Two that are over at the same time: the outer block is over, so it says so."""
    assert loomlet.spawn(run, (5, 5), 9, 0).result() == 0


def test_the_outer_one_lasts_longer(clock):
    """After the inner TimeoutError the outer block has the rest of its time."""
    with pytest.raises(TimeoutError), timeout(5):
        with pytest.raises(TimeoutError), timeout(2):
            loomlet.sleep(100)
        assert clock() == 2.0
        loomlet.sleep(2)
        assert clock() == 4.0
        loomlet.sleep(100)
    assert clock() == 5.0


def test_an_inner_timeouterror_that_travels_late_stays_the_inner_one(clock):
    """The inner one was TimeoutError before the outer was over: that is what comes out."""
    with pytest.raises(TimeoutError) as info, timeout(5) as outer:
        try:
            with timeout(2):
                loomlet.sleep(100)
        finally:
            with CancelScope(shield=True):
                loomlet.sleep(10)
    assert outer.cancel_called
    assert not outer.cancelled_caught
    assert info.value.__cause__ is not None
    assert clock() == 12.0
