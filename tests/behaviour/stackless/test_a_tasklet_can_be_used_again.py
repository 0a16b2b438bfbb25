"""A tasklet that has ended can be bound and run again."""

import weakref

import pytest

import loomlet
import loomlet.compat.stackless as stackless


def test_bound_anew(mode):
    """Spec 1, re-use: the same object runs another function after its end."""
    log = []
    task = stackless.tasklet(log.append)(1)
    stackless.run()
    task.bind(log.extend)
    task([2, 3])
    stackless.run()
    assert log == [1, 2, 3]


def test_many_times(mode):
    """Spec 1, re-use: any number of times, even after an error and after a kill."""
    log, task = [], stackless.tasklet()
    ch = stackless.channel()

    def fails():
        raise KeyError

    for n in range(20):
        task.bind(fails)()
        try:
            stackless.run()
        except KeyError:
            log.append("failed")
        task.bind(ch.receive)()
        stackless.run()
        task.kill()
        task.bind(log.append, (n,)).insert()
        stackless.run()
    assert log == [entry for n in range(20) for entry in ("failed", n)]


def run_one_that_its_finalizer_keeps(kept):
    class Kept(stackless.tasklet):
        def __del__(self):
            kept.append(self)

    Kept(int)()
    stackless.run()


def run_one_that_its_result_keeps(kept):
    class Result:
        def __del__(self):
            kept.append(ref())

    task = stackless.tasklet(Result)()
    ref = weakref.ref(task)
    del task
    stackless.run()


@pytest.mark.parametrize(
    "run_one", [run_one_that_its_finalizer_keeps, run_one_that_its_result_keeps]
)
def test_one_that_nobody_held(mode, run_one):
    """Spec 1, re-use: its `__del__`, or a weak reference, brought it back at its end."""
    kept, log = [], []
    run_one(kept)
    (task,) = kept
    task.bind(log.append)(1)
    stackless.run()
    assert (log, task.alive, task.thread_id == stackless.current.thread_id) == ([1], False, True)


def test_nothing_is_left_of_a_call_of_c_code(mode):
    """Spec 1, re-use: a scope that it has entered and cancelled is not that of the next run."""
    scope, log = loomlet.CancelScope(), []

    def again():
        loomlet.schedule()
        log.append("went on")

    task = stackless.tasklet(sorted)([scope.__enter__, scope.cancel], key=lambda call: bool(call()))
    stackless.run()
    task.bind(again)()
    stackless.run()
    assert log == ["went on"]


def test_kept_ones_lose_their_thread(mode, thread):
    """Spec 1, re-use: as others, when it ends; another thread can adopt them."""
    kept, log = [], []
    for run_one in (run_one_that_its_finalizer_keeps, run_one_that_its_result_keeps):
        thread(run_one, kept).result()
    assert [task.thread_id for task in kept] == [-1, -1]
    for task in kept:
        task.bind_thread()
        task.bind(log.append)(task.thread_id == stackless.current.thread_id)
    stackless.run()
    assert log == [True, True]
