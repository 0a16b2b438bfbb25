"""However Condition.wait() ends, the tasklet holds the lock again, before its code goes on.

Nothing of the call runs meanwhile: what ended the wait is kept until the lock is handed over.
"""

import contextlib
import gc
import signal
import threading

import pytest
from helpers_ending_waits import killed_before_it_runs

import loomlet
from loomlet import CancelScope, Condition, Lock, TaskletExit, freeze, schedule, spawn, thaw
from loomlet.sync import RLock


def depth_of(condition):
    return condition._depth


def waits(condition, log, timeout=None):
    with condition:
        try:
            log.append(condition.wait(timeout))
        except BaseException as error:
            log.append(error)
        log.append(depth_of(condition))


@pytest.fixture
def late(virtual):
    """A tasklet whose time is over while main has the lock; its condition; its log."""
    condition, log = Condition(), []
    task = spawn(waits, condition, log, 1)
    schedule()
    condition.acquire()
    loomlet.sleep(2)
    return task, condition, log


def test_late_while_the_lock_is_held(mode, late):
    task, condition, log = late
    assert (task.state, log) == ("blocked", [])
    condition.release()
    task.join()
    assert log == [False, 1]


def test_a_notification_is_not_for_one_that_is_late(mode, late):
    task, condition, log = late
    other = spawn(waits, condition, log)
    schedule()
    condition.release()
    task.join()
    schedule()
    with condition:
        condition.notify()
    other.join()
    assert log == [False, 1, True, 1]


def test_what_is_thrown_into_one_that_is_late(mode, late):
    task, condition, log = late
    task.throw(KeyError("first"))
    assert log == []
    task.throw(ValueError("second"))
    condition.release()
    task.join()
    assert repr(log[0]) == "ValueError('second')"
    assert repr(log[0].__context__) == "KeyError('first')"
    assert log[1:] == [1]


def test_the_same_is_thrown_again_and_again(mode, late):
    task, condition, log = late
    one, two = KeyError(1), KeyError(2)
    for error in (one, two, one, one):
        task.throw(error)
    condition.release()
    task.join()
    assert log == [one, 1]
    assert (one.__context__, two.__context__) == (None, one)


def test_a_cancel_waits_until_the_lock_is_there(mode, virtual):
    """A cancel of one that is late comes at the next blocking call."""
    condition, log, scope = Condition(), [], CancelScope()

    def work():
        with scope:
            waits(condition, log, 1)
            schedule()

    task = spawn(work)
    schedule()
    condition.acquire()
    loomlet.sleep(2)
    scope.cancel()
    assert task.state == "blocked"
    condition.release()
    task.join()
    assert log == [False, 1]
    assert not condition.locked()


def test_a_cancel_does_not_take_the_place_of_a_kill(mode):
    condition, log, scope = Condition(), [], CancelScope()

    def work():
        with scope:
            waits(condition, log)

    task = spawn(work)
    schedule()
    condition.acquire()
    task.kill()
    scope.cancel()
    condition.release()
    task.join()
    assert [type(log[0]), log[1]] == [TaskletExit, 1]


def end_wait(ends, condition, task):
    """The wait of that tasklet, for a second of virtual time, is over; it has not run since."""
    if ends == "notify":
        condition.notify()
    elif ends == "throw":
        task.throw(KeyError)
    else:
        loomlet.sleep(2)


@pytest.mark.parametrize("ends", ["notify", "timeout", "throw"])
def test_a_lock_that_was_taken_three_times(virtual, mode, ends):
    condition, log = Condition(RLock()), []

    def work():
        with condition, condition:
            waits(condition, log, 1)

    task = spawn(work)
    schedule()
    with condition:
        end_wait(ends, condition, task)
        assert log == []
    task.join()
    assert isinstance(log[0], bool if ends != "throw" else KeyError)
    assert log[1] == 3
    assert not condition.locked()


@pytest.mark.parametrize("free", [True, False])
def test_killed_runs_at_once_if_the_lock_is_free(mode, free):
    condition, log = Condition(), []
    task = spawn(waits, condition, log)
    schedule()
    if not free:
        condition.acquire()
    task.throw(KeyError)
    assert len(log) == (2 if free else 0)
    if not free:
        condition.release()
        task.join()
    assert [type(log[0]), log[1]] == [KeyError, 1]


def test_no_frame_of_ours_is_in_between(mode):
    condition, log = Condition(), []
    task = spawn(waits, condition, log)
    schedule()
    task.throw(KeyError)
    trace, names = log[0].__traceback__, []
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert names == ["waits"]


@pytest.mark.parametrize("given", [False, True])
def test_one_that_is_discarded_keeps_no_lock(switches, late, given):
    task, condition, log = late
    if given:
        condition.release()  # it was handed over; the tasklet has not run since
    task.discard()
    if not given:
        condition.release()
    assert condition.acquire(False)
    assert log == []


def removed(task):
    task.remove()


def removed_and_killed(task):
    task.remove()
    killed_before_it_runs(task)


def killed_twice(task):
    killed_before_it_runs(task)
    killed_before_it_runs(task)


@pytest.mark.parametrize(
    "meets", [killed_before_it_runs, killed_twice, removed, removed_and_killed]
)
@pytest.mark.parametrize("ends", ["notify", "timeout", "throw"])
@pytest.mark.parametrize("depth", [1, 2])
def test_one_that_meets_something_and_is_discarded_keeps_no_lock(
    switches, virtual, meets, ends, depth
):
    """Between the moment at which it was given the lock and the next moment at which it runs."""
    condition, log = Condition(), []

    def work():
        with contextlib.ExitStack() as taken:
            for _ in range(depth - 1):
                taken.enter_context(condition)
            waits(condition, log, 1)

    task, next_one = spawn(work), spawn(waits, condition, log, 100)
    schedule()
    with condition:
        end_wait(ends, condition, task)
    assert condition.locked()
    meets(task)
    assert condition.locked()
    task.discard()
    if ends != "notify":
        assert condition.acquire(False)
        condition.notify()
        condition.release()
    next_one.join()
    assert log == [True, 1]
    assert not condition.locked()


@pytest.mark.parametrize("meets", [killed_before_it_runs, killed_twice, removed_and_killed])
def test_one_that_is_killed_has_the_lock_when_it_runs(mode, virtual, meets):
    condition, log = Condition(), []
    task = spawn(waits, condition, log, 1)
    schedule()
    with condition:
        loomlet.sleep(2)
    meets(task)
    task.join()
    assert [type(log[0]), log[1]] == [TaskletExit, 1]
    assert not condition.locked()


def report(condition, timeout):
    log = []
    waits(condition, log, timeout)
    return log


def hold_for(condition, seconds):
    with condition:
        loomlet.sleep(seconds)


@pytest.mark.parametrize("ends", ["timeout", "throw"])
def test_one_that_waits_for_the_lock_is_frozen_with_its_holder(virtual, switches, ends):
    condition = Condition()
    tasks = [spawn(report, condition, 1), spawn(hold_for, condition, 10)]
    loomlet.sleep(0.5)
    if ends == "throw":
        tasks[0].throw(KeyError("kept"))
    loomlet.sleep(1.5)
    data = freeze(tasks)
    for task in tasks:
        task.discard()
    begin = loomlet.now()
    copy, holder = thaw(data)
    found, depth = copy.result()
    assert repr(found) == ("False" if ends == "timeout" else "KeyError('kept')")
    assert depth == 1
    assert loomlet.now() == begin + 8
    holder.join()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_garbage_holds_the_lock_when_it_ends(mode):
    log = []

    def begin():
        spawn(waits, Condition(), log)
        schedule()

    begin()
    gc.collect()
    schedule()
    assert [type(log[0]), log[1]] == [TaskletExit, 1]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_garbage_whose_lock_somebody_holds(mode):
    """The lock lives; what waited for the condition ends as soon as the lock is free."""
    log, lock = [], Lock()

    def begin():
        condition = Condition(lock)
        spawn(waits, condition, log)
        schedule()
        lock.acquire()

    begin()
    gc.collect()
    schedule()
    assert log == []
    lock.release()
    schedule()
    assert [type(log[0]), log[1]] == [TaskletExit, 1]
    assert not lock.locked()


def test_a_subclass_has_the_last_word():
    seen = []

    class Changed(Condition):
        def wait(self, timeout=None):
            seen.append(timeout)
            return super().wait(0)

        def notify(self, n=1):
            seen.append("notify")
            super().notify(n)

    condition = Changed()
    with condition:
        assert condition.wait_for(lambda: len(seen) > 1, 60) is True
        condition.notify()
        assert condition.wait(timeout=5) is False
    assert seen[2:] == ["notify", 5]


@pytest.mark.parametrize("arguments", [((1, 2), {}), ((), {"seconds": 1}), (("1",), {})])
def test_wrong_arguments(arguments):
    condition = Condition()
    positional, named = arguments
    with condition:
        with pytest.raises(TypeError):
            condition.wait(*positional, **named)
        assert depth_of(condition) == 1


def late_in_a_thread(seconds):
    """Whether it still waited when main had got the lock; what it found in the end."""
    condition, log, begun = Condition(Lock()), [], threading.Event()

    def work():
        with condition:
            begun.set()
            log.append(condition.wait(seconds))
            log.append(depth_of(condition))

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    with condition:
        waited = log == []
        threading.Event().wait(2 * seconds)  # its time is over meanwhile
        assert not (waited and log)
    thread.join()
    return waited, log


def test_a_thread_is_late_while_another_one_holds_the_lock():
    """On a busy machine main gets the lock too late, and the thread has a longer time."""
    for seconds in (0.01, 0.1, 1, 10):
        waited, log = late_in_a_thread(seconds)
        assert log == [False, 1]
        if waited:
            return


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers of the system")
def test_main_holds_the_lock_after_a_signal():
    def fail(*about):
        raise ZeroDivisionError

    condition, before = Condition(), signal.signal(signal.SIGALRM, fail)
    try:
        with condition:
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            with pytest.raises(ZeroDivisionError):
                condition.wait()
            assert depth_of(condition) == 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_methods_are_those_of_the_class():
    """The interpreter calls them by the short way."""
    for name in ("acquire", "release", "wait", "notify", "notify_all", "locked"):
        assert vars(Condition)[name].__objclass__ is Condition
    with pytest.raises(TypeError, match="expected a type and a method of a base"):
        loomlet._core._own_method(int, Condition.notify)
