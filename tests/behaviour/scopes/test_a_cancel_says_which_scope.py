"""Cancelled and time-outs say which scope it was; skipped clean-up leaves a note."""

import inspect

import pytest

import loomlet
from loomlet import Cancelled, CancelScope, Channel, TaskGroup, timeout


def line(offset):
    frame = inspect.currentframe().f_back
    return f"{__file__}:{frame.f_lineno + offset} in {frame.f_code.co_qualname}"


def text_of_cancelled():
    with pytest.raises(Cancelled) as info:
        loomlet.schedule()
    return str(info.value)


def test_a_cancelled_scope(mode):
    """Its kind, and the line of its `with`."""
    opened = line(1)
    with CancelScope() as scope:
        scope.cancel()
        assert text_of_cancelled() == f"the CancelScope opened at {opened} was cancelled"


def test_the_outermost_cancelled_scope_is_named(mode):
    """The one that ends the block; what a shield hides is not named."""
    opened = line(1)
    with TaskGroup() as outer, CancelScope() as inner:
        inner.cancel()
        outer.cancel()
        assert text_of_cancelled() == f"the TaskGroup opened at {opened} was cancelled"
        shielded = line(1)
        with CancelScope(shield=True) as scope:
            scope.cancel()
            assert text_of_cancelled() == f"the CancelScope opened at {shielded} was cancelled"


def test_a_tasklet_that_waits_is_told(mode):
    """A child is told the group that it is in."""
    seen = []

    def child():
        try:
            Channel().receive()
        except Cancelled as error:
            seen.append(str(error))
            raise

    opened = line(1)
    with TaskGroup() as group:
        group.spawn(child)
        loomlet.schedule()
        group.cancel()
    assert seen == [f"the TaskGroup opened at {opened} was cancelled"]


def test_a_timeout(mode, clock):
    """TimeoutError and the Cancelled that caused it name the `with`."""
    opened = line(1)
    with pytest.raises(TimeoutError) as info, timeout(1):
        loomlet.sleep(2)
    assert str(info.value) == f"the block timed out: timeout opened at {opened}"
    cause = str(info.value.__cause__)
    assert cause == f"the time of the timeout opened at {opened} is over"


def test_a_generator_that_leaves_its_scope_open():
    """Who is cancelled by another function's scope learns of which."""

    def opens():
        with timeout(0):
            yield line(-1)

    where = next(opening := opens())
    with pytest.raises(Cancelled) as info:
        loomlet.schedule()
    assert str(info.value) == f"the time of the timeout opened at {where} is over"
    with pytest.raises(TimeoutError):
        opening.throw(info.value)


def notes(error):
    return getattr(error, "__notes__", [])


def test_skipped_clean_up_leaves_a_note(mode, clock):
    """On the Cancelled, and on the TimeoutError that the program gets."""
    ch, done = Channel(), []
    with pytest.raises(TimeoutError) as info, timeout(1):
        try:
            loomlet.sleep(2)
        finally:
            here = line(1)
            ch.send("good bye")
            done.append("never")
    (note,) = notes(info.value)
    assert note.startswith(f"clean-up was skipped at {here}: it would have to wait")
    assert "CancelScope(shield=True)" in note
    assert notes(info.value.__cause__) == [note]
    assert done == []


def test_clean_up_of_a_child_is_named_by_the_group(mode):
    """The error of the group says what the other children could not do."""

    def cleans():
        try:
            Channel().receive()
        finally:
            loomlet.sleep(0)

    def fails():
        raise KeyError

    with pytest.raises(ExceptionGroup) as info, TaskGroup() as group:
        group.spawn(cleans)
        group.spawn(fails)
    (note,) = notes(info.value)
    assert f"clean-up was skipped at {__file__}:" in note


def test_clean_up_that_does_not_wait_leaves_none(mode, clock):
    """Neither does one that is shielded, nor a first Cancelled."""
    ch = Channel(1)
    with pytest.raises(TimeoutError) as info, timeout(1):
        try:
            loomlet.sleep(2)
        finally:
            ch.try_send("good bye")
            with CancelScope(shield=True):
                loomlet.schedule()
    assert notes(info.value) + notes(info.value.__cause__) == []


def test_many_skipped_operations_are_a_few_notes(clock):
    """Equal ones are one, and no more than eight are kept."""
    with pytest.raises(TimeoutError) as info, timeout(1):
        try:
            loomlet.sleep(2)
        except Cancelled:
            for _ in range(1000):
                with pytest.raises(Cancelled):
                    loomlet.schedule()
            for n in range(20):
                with pytest.raises(Cancelled):
                    exec("\n" * n + "loomlet.schedule()")
            raise
    assert len(notes(info.value)) == 8
