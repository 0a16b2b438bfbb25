"""A tasklet in a pure Python loop cannot freeze the others."""

import threading

import pytest

import loomlet
import loomlet.compat.stackless as stackless

SLICES = [0.0001, 0.001, 0.01, 1 / 50]


@pytest.fixture(params=["main thread", "another thread"])
def everywhere(request):
    """Calls a function in the main thread or in another one, and returns its result."""

    def call(function):
        if request.param == "main thread":
            return function()
        results = []
        thread = threading.Thread(target=lambda: results.append(function()))
        thread.start()
        thread.join()
        return results[0]

    return call


@pytest.mark.parametrize("slice", SLICES)
def test_a_loop_lets_another_tasklet_run(slice, until):
    """A loop that ends only when another tasklet has run ends."""
    log = []

    def main():
        loomlet.spawn(log.append, "ran")
        return until(lambda: log)

    assert loomlet.run(main, slice=slice)


def test_a_loop_of_one_instruction(everywhere):
    """The shortest possible loop, in any thread, by slices and by ticks."""

    def loop():
        while True: pass  # fmt: skip  # noqa: E701

    def main():
        task = loomlet.spawn(loop)
        loomlet.schedule()
        task.kill()
        return task.state

    def ticks():
        task = stackless.tasklet(loop)()
        for _ in range(3):
            assert stackless.run(10) is task
            task.insert()
        task.kill()
        return task.alive

    assert everywhere(lambda: loomlet.run(main, slice=0.001)) == "done"
    assert everywhere(ticks) is False


def test_it_is_on_by_default(until):
    """run() without arguments has slices."""
    log = []

    def main():
        loop = loomlet.spawn(until, lambda: log)
        loomlet.spawn(log.append, "ran")
        return loop.result()

    assert loomlet.run(main)


def test_loops_share_the_core(until):
    """Several loops all continue, each needing the others to."""
    turns = [0, 0, 0]

    def loop(mine):
        def condition():
            turns[mine] += 1
            return min(turns) > 1000

        return until(condition)

    def main():
        return [task.result() for task in [loomlet.spawn(loop, n) for n in range(3)]]

    assert loomlet.run(main, slice=0.0005) == [True, True, True]


def test_sleepers_wake_beside_a_loop(until):
    """A timer that is due is as good as a ready tasklet."""
    log = []

    def sleeper():
        loomlet.sleep(0.01)
        log.append("woke")

    def main():
        loomlet.spawn(sleeper)
        loomlet.schedule()
        return until(lambda: log)

    assert loomlet.run(main, slice=0.001)


def test_messages_are_read_beside_a_loop(until):
    """What another thread sends reaches a tasklet beside a loop."""
    log, ch = [], loomlet.Channel()

    def main():
        loomlet.spawn(lambda: log.append(ch.receive()))
        loomlet.schedule()
        thread = threading.Thread(target=ch.send, args=("message",))
        thread.start()
        ended = until(lambda: log)
        thread.join()
        return ended

    assert loomlet.run(main, slice=0.001)
    assert log == ["message"]


def test_a_loop_below_c_code_is_interrupted(until):
    """Half-done C callers do not protect a loop."""
    log = []

    def main():
        loop = loomlet.spawn(lambda: sorted([1, 2], key=lambda _: until(lambda: log)))
        loomlet.schedule()
        loomlet.spawn(log.append, "ran")
        return loop.result()

    assert loomlet.run(main, slice=0.001) == [1, 2]


def test_a_loop_can_be_killed(until):
    """An exception thrown into an interrupted loop is raised in it."""

    def main():
        loop = loomlet.spawn(until, lambda: False)
        loomlet.schedule()
        loop.kill()
        return loop.state

    assert loomlet.run(main, slice=0.001) == "done"
