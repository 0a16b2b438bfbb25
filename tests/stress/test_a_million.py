"""A million tasklets: made, dropped in every state, blocked at exit."""

import gc
import subprocess
import sys
import textwrap

import pytest

import loomlet
from loomlet import Channel, _core

SPARE = 500
"""Blocks that the interpreter's free lists may still take in: they fill slowly, up to some
hundreds, and then no more.  Half a million tasklets that left one block in a thousand behind pass
it."""


def body(ch, item):
    local = [item]
    ch.receive()
    return local


@pytest.mark.slow
@pytest.mark.parametrize("end", ["served", "killed", "forgotten", "never started"])
def test_made_and_dropped(end, memory):
    """A million tasklets made and dropped in one state leave no object and no block behind."""
    sizes = []
    for _ in range(4):
        for _ in range(10):
            make_and_drop(end, 25_000)
        sizes.append(memory())
    assert len(_core.tasklets()) == 1
    assert sizes[-1][0] <= sizes[1][0] + 10
    assert sizes[-1][1] <= sizes[1][1] + SPARE


def make_and_drop(end, count):
    ch = Channel()
    tasks = [loomlet.spawn(body, ch, n) for n in range(count)]
    if end == "never started":
        for task in tasks:
            task.remove()
        return
    loomlet.schedule()
    if end == "served":
        for _ in range(count):
            ch.send(None)
        loomlet.schedule()
    elif end == "killed":
        for task in tasks:
            task.kill()


@pytest.mark.slow
def test_hard_ones_made_and_dropped(memory):
    """Tasklets that keep C stacks, made and dropped again and again, leave nothing behind."""
    sizes = []
    for _ in range(4):
        for _ in range(10):
            ch = Channel()
            tasks = [
                loomlet.spawn(sorted, [1], key=lambda _: ch.receive() or 0) for _ in range(500)
            ]
            loomlet.schedule()
            for n, task in enumerate(tasks):
                task.kill() if n % 2 else ch.send(None)
            loomlet.schedule()
            del tasks, task
        sizes.append(memory())
    assert sizes[-1][0] <= sizes[1][0] + 10
    assert sizes[-1][1] <= sizes[1][1] + SPARE


@pytest.mark.slow
def test_without_the_collector(memory):
    """Where there is no cycle, reference counting alone frees them all."""
    memory()
    gc.disable()
    try:
        for end in ("served", "killed", "never started"):
            make_and_drop(end, 20_000)
        before = len(gc.get_objects())
        for _ in range(3):
            for end in ("served", "killed", "never started"):
                make_and_drop(end, 20_000)
        assert len(gc.get_objects()) <= before + 10
    finally:
        gc.enable()


@pytest.mark.slow
def test_cycles_in_rounds(mode, memory):
    """A hundred thousand blocked in cycles, five times: each finally once, memory flat."""
    count = 2_000 if mode == "hard" else 100_000
    sizes = []
    for _ in range(5):
        done = [0]

        def lost(ch, cycle, done=done):
            try:
                ch.receive()
            finally:
                done[0] += 1

        for _ in range(count):
            cycle = []
            cycle.append(loomlet.spawn(lost, Channel(), cycle))
        loomlet.schedule()
        del cycle
        sizes.append(memory())
        assert done == [count]
    assert sizes[-1][0] <= sizes[1][0] + 10
    assert sizes[-1][1] <= sizes[1][1] + SPARE


@pytest.mark.slow
def test_exit_with_a_million_blocked():
    """The interpreter ends in an orderly way with a million blocked tasklets."""
    program = """
        import gc
        import loomlet

        gc.disable()
        ch = loomlet.Channel()

        def body(ch, n):
            ch.receive()

        tasks = [loomlet.spawn(body, ch, n) for n in range(1_000_000)]
        loomlet.schedule()
        assert ch.balance == -1_000_000
        print("end")
        """
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(program)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
