"""`with nopreempt():` keeps the thread until the tasklet waits or yields."""

import pytest

import loomlet
from loomlet import nopreempt


def spin(rounds=3000):
    for _ in range(rounds):
        pass


def counting(log):
    while True:
        log.append(1)


def test_nothing_runs_meanwhile(every_safepoint):
    """No other tasklet runs between two statements inside."""
    log = []

    def main():
        loomlet.spawn(counting, log)
        with nopreempt():
            before = len(log)
            spin()
            inside = len(log) - before
        spin()
        return inside, len(log) > before

    assert every_safepoint(main) == (0, True)


def test_blocks_nest(every_safepoint):
    """It holds until the outermost block is left, with one object or several."""
    log = []

    def main():
        loomlet.spawn(counting, log)
        guard = nopreempt()
        with guard:
            before = len(log)
            with guard, nopreempt():
                spin()
            spin()
            return len(log) - before

    assert every_safepoint(main) == 0


def test_an_exception_leaves_the_block(every_safepoint):
    """It ends with its block, however that is left, and passes the exception on."""
    log = []

    def main():
        loomlet.spawn(counting, log)
        with pytest.raises(KeyError), nopreempt():
            raise KeyError
        before = len(log)
        spin()
        return len(log) > before

    assert every_safepoint(main)


def test_the_tasklet_may_still_switch(every_safepoint):
    """Blocking and yielding inside are what they always are."""
    log = []

    def main():
        loomlet.spawn(log.append, "other")
        with nopreempt():
            loomlet.schedule()
            return list(log)

    assert every_safepoint(main) == ["other"]


def test_it_concerns_its_tasklet_only(every_safepoint):
    """While one waits inside a block, others are interrupted as usual."""
    log, ch = [], loomlet.Channel()

    def inside():
        with nopreempt():
            ch.receive()

    def main():
        loomlet.spawn(inside)
        loomlet.spawn(counting, log)
        loomlet.schedule()
        before = len(log)
        spin()
        ch.send(None)
        return len(log) > before

    assert every_safepoint(main)


def test_time_slices_respect_it(until):
    """A switch that a time slice requested meanwhile happens when the block is left."""
    log = []

    def main():
        loomlet.spawn(log.append, "other")
        with nopreempt():
            spin(1_000_000)  # many slices
            inside = list(log)
        return inside, until(lambda: log)

    assert loomlet.run(main, slice=0.0005) == ([], True)


def test_misuse_is_an_error():
    """One object serves one tasklet at a time, and is left as often as it was entered."""
    guard, ch = nopreempt(), loomlet.Channel()

    def inside():
        with guard:
            ch.receive()

    task = loomlet.spawn(inside)
    loomlet.schedule()
    with pytest.raises(RuntimeError, match="another tasklet is inside"):
        guard.__enter__()
    ch.send(None)
    task.join()
    with pytest.raises(RuntimeError, match="is not entered"):
        guard.__exit__(None, None, None)
    with pytest.raises(TypeError):
        nopreempt(1)
