"""loomlet.run(main, *args) runs a program and cleans up behind it."""

import pytest

import loomlet
from loomlet import Channel, _core


def test_it_returns_the_result(mode):
    """run() passes the arguments and returns what main returns."""
    assert loomlet.run(lambda *args: args, 1, 2) == (1, 2)


def test_it_raises_the_exception(mode):
    """An exception of main is raised by run()."""
    with pytest.raises(ZeroDivisionError):
        loomlet.run(lambda: 1 / 0)


def test_main_is_the_main_tasklet(mode):
    """main runs as the main tasklet of the calling thread."""
    task = loomlet.run(loomlet.current)
    assert task is loomlet.current()
    assert (task.name, task.is_main) == ("main", True)


@pytest.mark.parametrize("ending", ["result", "exception"])
def test_remaining_tasklets_are_killed(ending, mode):
    """When main has ended, the others are killed; finally blocks run before run() returns."""
    log = []

    def worker(wait):
        try:
            wait()
        finally:
            log.append(wait)

    waits = [Channel().receive, loomlet.schedule, lambda: loomlet.sleep(99)]

    def main():
        for wait in waits:
            loomlet.spawn(worker, wait)
        loomlet.schedule()
        loomlet.spawn(worker, waits[0])
        if ending == "exception":
            raise KeyError

    if ending == "exception":
        with pytest.raises(KeyError):
            loomlet.run(main)
    else:
        with pytest.warns(RuntimeWarning, match="before these tasklets began"):
            loomlet.run(main)
    assert sorted(map(id, log)) == sorted(map(id, waits))
    assert len(_core.tasklets()) == 1


def test_cleaning_up_may_give_way(mode):
    """A finally block that lets others run is not cut short by the end of run()."""
    log = []

    def worker(n):
        try:
            loomlet.sleep(99)
        finally:
            for step in range(3):
                loomlet.schedule()
                log.append((step, n))

    def main():
        for n in range(3):
            loomlet.spawn(worker, n)
        loomlet.schedule()

    loomlet.run(main)
    assert sorted(log) == [(step, n) for step in range(3) for n in range(3)]


def test_workers_may_talk_while_they_clean_up(mode):
    """Finally blocks may exchange values over a channel before run() returns."""
    log = []

    def producer(ch):
        try:
            loomlet.sleep(99)
        finally:
            ch.send("last words")

    def consumer(ch):
        try:
            loomlet.sleep(99)
        finally:
            log.append(ch.receive())

    def main():
        ch = Channel()
        loomlet.spawn(producer, ch)
        loomlet.spawn(consumer, ch)
        loomlet.schedule()

    loomlet.run(main)
    assert log == ["last words"]


def test_tasklets_spawned_while_cleaning_up_are_ended_too(mode):
    """A finally block may spawn; that tasklet is gone as well when run() returns."""
    log = []

    def child():
        try:
            loomlet.sleep(99)
        finally:
            log.append("child")

    def worker():
        try:
            loomlet.sleep(99)
        finally:
            loomlet.spawn(child).run()

    def main():
        loomlet.spawn(worker)
        loomlet.schedule()

    loomlet.run(main)
    assert log == ["child"]
    assert len(_core.tasklets()) == 1


def test_a_tasklet_that_refuses_to_end_does_not_hang_it(mode):
    """run() returns although a tasklet catches every TaskletExit."""
    refused = []

    def stubborn():
        while True:
            try:
                loomlet.sleep(99)
            except loomlet.TaskletExit:
                refused.append(1)
                if len(refused) > 15:
                    raise

    def main():
        loomlet.spawn(stubborn)
        loomlet.schedule()
        return "result"

    with pytest.warns(RuntimeWarning, match="survived every kill"):
        assert loomlet.run(main) == "result"
    assert refused != []


def test_a_failure_while_cleaning_up_is_reported(failures, mode):
    """An exception of a finally block goes to the error handler; run() returns its result."""

    def worker():
        try:
            loomlet.sleep(99)
        finally:
            raise KeyError("while cleaning up")

    def main():
        loomlet.spawn(worker)
        loomlet.schedule()
        return "result"

    assert loomlet.run(main) == "result"
    [(_, error)] = failures
    failures.clear()
    assert isinstance(error, KeyError)


def test_a_nested_run_is_an_error(mode):
    """run() inside run() raises an error that says what to do instead."""

    def main():
        with pytest.raises(loomlet.TaskletError) as info:
            loomlet.run(lambda: None)
        return str(info.value)

    text = loomlet.run(main)
    assert "is already inside loomlet.run()" in text
    assert "spawn()" in text


def test_run_in_a_tasklet_is_an_error(mode):
    """Only the thread's own code can become the main tasklet."""
    task = loomlet.spawn(lambda: loomlet.run(lambda: None))
    with pytest.raises(loomlet.TaskletError, match="cannot be nested"):
        task.join()


def test_run_again(mode):
    """After a run(), whatever its outcome, another one may follow."""
    for n in range(3):
        with pytest.raises(KeyError):
            loomlet.run({}.__getitem__, n)
        assert loomlet.run(lambda x: loomlet.spawn(lambda: x).result(), n) == n


def test_everything_works_without_run(mode):
    """Spawning, waiting and channels need no run()."""
    ch = Channel()
    loomlet.spawn(lambda: ch.send("value"))
    assert ch.receive() == "value"


def test_without_run_tasklets_stay(mode):
    """A tasklet spawned without run() is not ended by a later, empty run() but by its own end."""
    ch = Channel()
    task = loomlet.spawn(ch.receive)
    loomlet.schedule()
    assert loomlet.run(lambda: task.state) == "blocked"
    assert task.state == "done"


def test_run_inside_a_cancelled_scope_leaves_it_cancelled():
    """The cancel around run() is there again when run() has returned."""
    with loomlet.CancelScope() as scope:
        scope.cancel()
        assert loomlet.run(lambda: 1) == 1
        with pytest.raises(loomlet.Cancelled):
            loomlet.schedule()
