"""A tasklet that is collected while it waits raises a ResourceWarning that says where."""

import gc
import warnings

import pytest

import loomlet
from loomlet import Channel


def waits(ch):
    ch.receive()  # + 1


def outer(ch, cycle):
    waits(ch)


def test_function_and_line(mode):
    """The warning names the tasklet, and function:line where it waited."""
    cycle = []
    cycle.append(loomlet.spawn(outer, Channel(), cycle))
    name = cycle[0].name
    loomlet.schedule()
    del cycle
    with pytest.warns(ResourceWarning) as caught:
        gc.collect()
    [warning] = caught
    text = str(warning.message)
    line = waits.__code__.co_firstlineno + 1
    assert name in text
    assert f"waits:{line}" in text
    assert f"{__file__}:{line}" in text


def test_not_for_a_killed_tasklet(mode):
    """Tasklets that ended in any orderly way raise no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for end in ("kill", "value", "never started"):
            ch = Channel()
            task = loomlet.spawn(waits, ch)
            if end == "never started":
                task.remove()
            else:
                loomlet.schedule()
                task.kill() if end == "kill" else ch.send(1)
            loomlet.schedule()
            del task, ch
            gc.collect()


def test_a_warning_that_is_an_error(monkeypatch, mode):
    """With warnings as errors the finally block still runs; the warning is unraisable."""
    import sys

    unraisable, log = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: unraisable.append(info.exc_value))

    def body(ch, cycle):
        try:
            ch.receive()
        finally:
            log.append("finally")

    cycle = []
    cycle.append(loomlet.spawn(body, Channel(), cycle))
    loomlet.schedule()
    del cycle
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gc.collect()
    loomlet.schedule()
    assert log == ["finally"]
    assert [type(error) for error in unraisable] == [ResourceWarning]
