"""A request reaches the thread that it was made for, however many are busy."""

import threading

import pytest

import loomlet
import loomlet.compat.stackless as stackless
from loomlet import _core


def test_many_busy_threads(until):
    """In each of several threads with slices, loops that need each other end."""
    results = []

    def thread():
        turns = [0, 0]

        def loop(mine):
            def condition():
                turns[mine] += 1
                return min(turns) > 300

            return until(condition)

        def main():
            return [task.result() for task in [loomlet.spawn(loop, n) for n in range(2)]]

        results.append(loomlet.run(main, slice=0.0005))

    threads = [threading.Thread(target=thread) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert results == [[True, True]] * 6


def test_threads_without_slices_are_left_alone(until):
    """Beside a thread with slices, one without never switches by force."""
    stop, counts = threading.Event(), []

    def plain():
        log = []

        def other():
            log.append("ran")

        def main():
            loomlet.spawn(other)
            before = _core.stats()["hard"]
            until(stop.is_set)
            counts.append((_core.stats()["hard"] - before, list(log)))
            loomlet.schedule()

        loomlet.run(main, slice=None)

    def main():
        turns = [0, 0]

        def loop(mine):
            def condition():
                turns[mine] += 1
                return min(turns) > 2000

            return until(condition)

        return [task.result() for task in [loomlet.spawn(loop, n) for n in range(2)]]

    threads = [threading.Thread(target=plain) for _ in range(3)]
    for each in threads:
        each.start()
    assert loomlet.run(main, slice=0.0005) == [True, True]
    stop.set()
    for each in threads:
        each.join()
    assert counts == [(0, [])] * 3


def test_ticks_of_many_threads():
    """Each of several threads counts its own, even while others start and stop counting."""

    def loop():
        while True:
            pass

    def thread(results, rounds):
        for _ in range(10):
            task = stackless.tasklet(loop)()
            for _ in range(rounds):
                assert stackless.run(7) is task
                task.insert()
            task.kill()
        results.append(rounds)

    results = []
    threads = [threading.Thread(target=thread, args=(results, 10 * n)) for n in range(1, 5)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(results) == [10, 20, 30, 40]


@pytest.mark.filterwarnings("ignore::loomlet.StallWarning")
def test_threads_may_end_at_any_time(until):
    """Threads that end while the monitor thread samples them leave nothing that it could touch.

    On a loaded machine one of four that spin without a GIL may not run for a second."""

    def thread():
        def main():
            done = []
            loomlet.spawn(done.append, 1)
            until(lambda: done)

        loomlet.run(main, slice=0.0001)

    for _ in range(30):
        threads = [threading.Thread(target=thread) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
