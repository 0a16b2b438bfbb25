"""The same work again takes no more memory than the first time, and leaves next to none."""

import os
import sys

import pytest

from loomlet import _core

FREE = not getattr(sys, "_is_gil_enabled", lambda: True)()
OBJECTS = 450  # bytes of a tasklet's objects, whose memory the interpreter keeps without the GIL
HARD = 8_000

ROUNDS = """
    import gc, sys
    import loomlet
    from loomlet import Channel, _core, heap

    kind, count = sys.argv[1], int(sys.argv[2])
    gate = Channel()

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def waits(depth):
        if depth:
            waits(depth - 1)
        else:
            gate.receive()

    def work():
        for n in range(count):
            loomlet.spawn(waits, 25 if kind == "deep" else 0)
            if n % 100 == 99:
                loomlet.schedule()
        loomlet.schedule()
        full = resident()
        for _ in range(count):
            gate.send(None)
        loomlet.schedule()
        gc.collect()
        if not _core.soft():
            heap.trim()
        return full, resident()

    def main():
        before = resident()
        for _ in range(5):
            full, left = work()
            print(full - before, left - before)

    _core.soft(kind != "hard")
    loomlet.run(main)
"""


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="ASan keeps memory")
@pytest.mark.parametrize(("kind", "count"), [("plain", 60_000), ("deep", 10_000), ("hard", HARD)])
def test_rounds(python, kind, count):
    """Blocked tasklets, whose calls are deep, or which keep C stacks."""
    count = count if _core.soft() else HARD
    done = python(ROUNDS, kind, str(count), LOOMLET_TORTURE="")
    assert (done.returncode, done.stderr) == (0, "")
    rounds = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    first, (full, left) = rounds[0][0], rounds[-1]
    assert len(rounds) == 5
    assert full <= 1.05 * first
    assert left <= 0.1 * first + (count * OBJECTS if FREE else 0)
