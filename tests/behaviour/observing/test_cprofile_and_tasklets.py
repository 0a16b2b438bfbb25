"""cProfile cannot tell tasklets apart; run() says so when that has made its numbers wrong."""

import cProfile
import sys
import warnings

import pytest

import loomlet

WORDS = "cProfile was on while tasklets took turns"


def take_turns():
    tasks = [loomlet.spawn(loomlet.schedule) for _ in range(2)]
    for task in tasks:
        task.join()


@pytest.fixture
def profiler():
    """On for the time of the test."""
    found = cProfile.Profile()
    try:
        found.enable()
    except ValueError as error:
        pytest.skip(f"another profiler is on: {error}")
    found.disable()
    yield found
    found.disable()


def test_it_was_on_around_run(profiler, mode):
    """The warning comes at the end."""
    profiler.enable()
    with pytest.warns(RuntimeWarning, match=WORDS):
        loomlet.run(take_turns)


def test_it_was_on_inside_run(profiler, mode):
    """Also for a part of the program, and in a tasklet."""

    def part():
        profiler.enable()
        take_turns()
        profiler.disable()

    with pytest.warns(RuntimeWarning, match=WORDS):
        loomlet.run(lambda: loomlet.spawn(part).join())


def test_no_tasklet_took_turns(profiler, mode):
    """Then its numbers are true."""

    def alone():
        profiler.enable()
        total = sum(map(abs, range(10)))
        profiler.disable()
        take_turns()
        return total

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loomlet.run(alone) == 45


def test_it_was_off(mode):
    """As ever."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loomlet.run(take_turns)


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="it is found there from 3.12 on")
def test_viztracer_is_named():
    """It stops at the first switch, and says no more than that it does."""
    tool = sys.monitoring.PROFILER_ID
    if sys.monitoring.get_tool(tool) is not None:
        pytest.skip("another profiler is on")
    sys.monitoring.use_tool_id(tool, "viztracer")
    try:
        with pytest.warns(RuntimeWarning, match="VizTracer was on .* --os-threads"):
            loomlet.run(take_turns)
    finally:
        sys.monitoring.free_tool_id(tool)
