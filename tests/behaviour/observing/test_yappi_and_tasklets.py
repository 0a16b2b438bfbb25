"""yappi keeps a stack of calls for each tasklet: its wall times are those of each.

All calls came into one stack, and a tasklet that had slept a while had taken no time.
"""

import threading

import pytest

import loomlet
from loomlet import Channel, patch

yappi = pytest.importorskip("yappi")

SHORT, LONG = 0.01, 0.2  # seconds


def sleeps_long():
    loomlet.sleep(LONG)


def sleeps_short(often):
    for _ in range(often):
        loomlet.sleep(SHORT)


@pytest.fixture
def profiler():
    """On for the time of a call."""
    yappi.set_clock_type("wall")

    def run(main):
        yappi.start()
        try:
            loomlet.run(main)
        finally:
            yappi.stop()
        times = {one.name: one.ttot for one in yappi.get_func_stats()}
        return times, {one.name for one in yappi.get_thread_stats()}

    yield run
    yappi.stop()
    yappi.clear_stats()


def test_tasklets_have_their_own_times(profiler):
    """Of a long sleep and of short ones beside it."""

    def main():
        tasks = [loomlet.spawn(sleeps_short, 3), loomlet.spawn(sleeps_long)]
        for task in tasks:
            task.join()

    times, names = profiler(main)
    assert times["sleeps_long"] >= LONG
    assert times["sleeps_short"] >= 3 * SHORT
    assert len(names) >= 3


def test_threads_that_are_tasklets_have_their_names(profiler):
    """And their times."""
    patch.install(threads=True)
    try:

        def main():
            targets = {"long": sleeps_long, "short": lambda: sleeps_short(3)}
            threads = [threading.Thread(target=do, name=name) for name, do in targets.items()]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        times, names = profiler(main)
    finally:
        patch.uninstall()
    assert times["sleeps_long"] >= LONG
    assert {"long", "short"} <= names


def test_a_program_may_say_what_a_context_is(profiler):
    """Its own function stays, whatever runs afterwards."""
    asked = []

    def mine():
        asked.append(1)
        return 1

    def main():
        channel = Channel()
        loomlet.spawn(channel.send, 1)
        channel.receive()

    loomlet.run(main)
    yappi.set_context_id_callback(mine)
    try:
        profiler(main)
    finally:
        yappi.set_context_id_callback(loomlet._core._context_number)
    assert asked
