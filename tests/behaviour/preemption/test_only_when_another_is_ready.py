"""The only ready tasklet of a thread is never interrupted."""

import loomlet
from loomlet import _core


def spin(rounds=20000):
    for _ in range(rounds):
        pass


def test_alone_there_is_no_switch(every_safepoint):
    """Safepoints without another ready tasklet are not switches."""

    def main():
        loomlet.spawn(loomlet.Channel().receive)
        loomlet.schedule()
        before = _core.stats()
        spin()
        after = _core.stats()
        return after["hard"] - before["hard"], after["soft"] - before["soft"]

    assert every_safepoint(main) == (0, 0)


def test_with_another_there_is(every_safepoint):
    """The same with one ready tasklet beside it."""

    def main():
        other = loomlet.spawn(spin)
        before = _core.stats()["hard"]
        spin()
        switched = _core.stats()["hard"] - before
        other.join()
        return switched

    assert every_safepoint(main) > 1000


def test_the_interrupted_one_goes_to_the_tail(every_safepoint):
    """Interrupted tasklets run in turns."""
    log = []

    def loop(name):
        for _ in range(50):
            log.append(name)

    def main():
        for task in [loomlet.spawn(loop, name) for name in "abc"]:
            task.join()

    every_safepoint(main, safepoints=20)
    turns = [name for n, name in enumerate(log) if n == 0 or log[n - 1] != name]
    assert len(turns) > 6
    assert turns[:6] == ["a", "b", "c", "a", "b", "c"]
