"""A tasklet that holds its thread in a long call of C code is reported with line and duration."""

import sys
import time
import warnings

import pytest

import loomlet
from loomlet import _core, _debug


@pytest.fixture
def stalls():
    """The stalls passed to a callback; a call is long from 0.02 s on."""
    seen = []
    before = loomlet.on_stall(seen.append, after=0.02)
    yield seen
    loomlet.on_stall(before)


def sleep_in_c(seconds=0.2):
    time.sleep(seconds)  # the call that holds the thread
    return [None for _ in range(100)]


# 3.11 reports it at the next line.
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
    """Python code that computes for long is interrupted, not reported; nor is loomlet.sleep()."""

    def main():
        loomlet.on_stall(stalls.append, after=0.4)  # more than a busy machine may keep us waiting
        end = time.monotonic() + 0.6
        task = loomlet.spawn(until, lambda: time.monotonic() > end)
        loomlet.sleep(0.05)
        task.join()
        loomlet.sleep(0.5)

    loomlet.run(main, slice=0.002)
    assert stalls == []


def warnings_of(main):
    """The StallWarnings of a run, in which no line has warned before."""
    _debug.stalls._warned.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loomlet.on_stall(None, after=0.02)
        loomlet.run(main, slice=0.002)
    loomlet.on_stall(None)
    return [w for w in caught if w.category is loomlet.StallWarning]


def test_by_default_it_warns_once_for_each_line():
    """A StallWarning names the tasklet, the line, and what to do; the same line warns once."""

    def main():
        for _ in range(2):
            loomlet.spawn(loomlet.sleep, 0.01)  # computing is a stall on a machine that stops us
            loomlet.schedule()
            sleep_in_c(0.1)

    warned = warnings_of(main)
    assert [(w.filename, w.lineno) for w in warned] == [(__file__, LINE)]
    assert "sleep_in_c" in str(warned[0].message)
    assert str(warned[0].message).endswith("make such calls with loomlet.run_blocking()")
    assert issubclass(loomlet.StallWarning, RuntimeWarning)


HELD_UP_NOBODY = {
    "alone": lambda: None,
    "a sleeper": lambda: loomlet.spawn(loomlet.sleep, 1000),
    "a receiver": lambda: loomlet.spawn(loomlet.Channel().receive),
}


@pytest.mark.parametrize("begin", HELD_UP_NOBODY.values(), ids=HELD_UP_NOBODY)
def test_a_call_that_holds_up_no_tasklet_is_no_warning(begin):
    """Imports before anything is spawned, and a poller beside tasklets that wait anyway."""

    def main():
        begun = begin()
        loomlet.schedule()
        sleep_in_c(0.05)
        return begun

    assert warnings_of(main) == []


def test_a_call_that_holds_up_a_timer_is_a_warning():
    """Its tasklet would have run in the meantime."""

    def main():
        loomlet.spawn(loomlet.sleep, 0.01)
        loomlet.schedule()
        sleep_in_c(0.05)

    assert [type(each.message) for each in warnings_of(main)] == [loomlet.StallWarning]


def test_the_callback_may_fail(stalls, monkeypatch):
    """Its exception is printed; the tasklet continues."""

    def fail(stall):
        raise KeyError("from the callback")

    printed = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)
    assert loomlet.on_stall(fail, after=0.02) is not None
    assert loomlet.run(lambda: len(sleep_in_c(0.1)), slice=0.002) == 100
    assert [report.exc_type for report in printed] == [KeyError]


def test_arguments_are_checked():
    """A callback must be callable, a time must be a positive number."""
    with pytest.raises(TypeError, match="expected a callable or None"):
        loomlet.on_stall(5)
    with pytest.raises(ValueError, match="expected a number of seconds > 0"):
        loomlet.on_stall(None, after=0)
    assert loomlet.on_stall(None) is None
    assert _core.current().is_main
