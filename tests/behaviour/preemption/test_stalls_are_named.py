"""A tasklet that holds its thread in a long call of C code is reported with line and duration."""

import sys
import time
import warnings

import pytest

import loomlet
from loomlet import _core


@pytest.fixture
def stalls():
    """The stalls that a callback was told of; a call is long from 0.02 s on."""
    seen = []
    before = loomlet.on_stall(seen.append, after=0.02)
    yield seen
    loomlet.on_stall(before)


def sleep_in_c(seconds=0.2):
    time.sleep(seconds)  # the call that holds the thread
    return [None for _ in range(100)]


# 3.11 tells it at the next line.
LINE = sleep_in_c.__code__.co_firstlineno + (1 if sys.version_info >= (3, 12) else 2)


def test_a_long_call_is_reported(stalls):
    """The callback gets the tasklet, the line of the call and how long it took."""

    def main():
        task = loomlet.spawn(sleep_in_c)
        task.name = "sleepy"
        task.join()
        return task

    task = loomlet.run(main, slice=0.002)
    assert [(s.tasklet, s.function) for s in stalls] == [(task, "sleep_in_c")]
    assert stalls[0].filename == __file__
    assert stalls[0].lineno == LINE
    assert 0.02 <= stalls[0].seconds


def test_computing_is_no_stall(stalls, until):
    """Python code that computes for long is interrupted, not told; nor is a sleep of ours."""

    def main():
        loomlet.on_stall(stalls.append, after=0.4)  # more than a busy machine may keep us waiting
        end = time.monotonic() + 0.6
        task = loomlet.spawn(until, lambda: time.monotonic() > end)
        loomlet.sleep(0.05)
        task.join()
        loomlet.sleep(0.5)

    loomlet.run(main, slice=0.002)
    assert stalls == []


def test_by_default_it_warns_once_for_each_line():
    """A StallWarning names the tasklet and the line; the same line warns once."""

    def main():
        loomlet.spawn(sleep_in_c, 0.1).join()
        loomlet.spawn(sleep_in_c, 0.1).join()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loomlet.on_stall(None, after=0.02)
        loomlet.run(main, slice=0.002)
    loomlet.on_stall(None)
    told = [w for w in caught if w.category is loomlet.StallWarning]
    assert [(w.filename, w.lineno) for w in told] == [(__file__, LINE)]
    assert "sleep_in_c" in str(told[0].message)
    assert issubclass(loomlet.StallWarning, RuntimeWarning)


def test_the_callback_may_fail(stalls, monkeypatch):
    """Its exception is printed; the tasklet continues."""

    def fail(stall):
        raise KeyError("from the callback")

    printed = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)
    assert loomlet.on_stall(fail, after=0.02) is not None
    assert loomlet.run(lambda: len(sleep_in_c(0.1)), slice=0.002) == 100
    assert [told.exc_type for told in printed] == [KeyError]


def test_arguments_are_checked():
    """No callback that cannot be called, no time that is none."""
    with pytest.raises(TypeError, match="expected a callable or None"):
        loomlet.on_stall(5)
    with pytest.raises(ValueError, match="expected a number of seconds > 0"):
        loomlet.on_stall(None, after=0)
    assert loomlet.on_stall(None) is None
    assert _core.current().is_main
