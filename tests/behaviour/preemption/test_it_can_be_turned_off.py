"""slice=None, and code outside run(), switch only where a tasklet blocks or yields."""

import loomlet
from loomlet import _core


def loop(log, name):
    for _ in range(3):
        for _ in range(300_000):  # several slices long
            pass
        log.append(name)


def run_loops():
    log = []
    for task in [loomlet.spawn(loop, log, name) for name in "ab"]:
        task.join()
    return "".join(log)


def test_none_is_off():
    """Two loops run one after the other."""
    assert loomlet.run(run_loops, slice=None) == "aaabbb"


def test_it_is_off_outside_run():
    """Without run() nothing interrupts, also after a run() that had slices."""
    loomlet.run(lambda: None)
    assert run_loops() == "aaabbb"


def test_a_virtual_clock_turns_it_off(clock):
    """Simulated time does not pass while code runs, so no slice ends."""
    assert loomlet.run(run_loops, slice=0.001) == "aaabbb"


def test_a_seed_turns_it_off():
    """A run order that can be repeated does not depend on the time things take."""
    _core._seed(3)
    assert loomlet.run(run_loops, slice=0.001) in ("aaabbb", "bbbaaa")
