"""An exception thrown into a tasklet that was interrupted finds the handlers of that place."""

import gc
import sys
import traceback
import weakref

import pytest

import loomlet.compat.stackless as stackless


def nothing():
    pass


def guarded(log):
    log.append("begins")
    try:
        log.append("in")
        while True:
            for _ in (1, 2):
                nothing()
    except ValueError as error:
        log.append(error.args[0])
        for _ in (1, 2):
            nothing()
    finally:
        log.append("finally")
    return "end"


def in_a_generator(log):
    def values():
        log.append("in")
        try:
            while True:
                yield 1
        except ValueError as error:
            log.append(error.args[0])
        finally:
            log.append("finally")

    log.append("begins")
    for _ in values():
        pass


def in_a_with(log):
    class Manager:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, where):
            log.append(error.args[0])
            log.append("finally")
            return True

    log.append("begins")
    with Manager():
        log.append("in")
        while True:
            nothing()


def shortest(log):
    log.append("begins")
    log.append("in")
    try:
        while True: pass  # fmt: skip  # noqa: E701
    except ValueError as error:
        log.append(error.args[0])
    finally:
        log.append("finally")


def behind_a_try(log):
    log.append("begins")
    try:
        log.append("early")
    except ValueError:
        log.append("wrong")
    log.pop()
    try:
        log.append("in")
        for _ in iter(int, 1):
            pass
    except ValueError as error:
        log.append(error.args[0])
    finally:
        log.append("finally")


def before_a_try(log):
    log.append("begins")
    log.append("in")
    while True:
        try:
            nothing()
        except ValueError as error:
            log.append(error.args[0])
            break
        finally:
            if len(log) > 2:
                log.append("finally")


FUNCTIONS = [guarded, in_a_generator, in_a_with, shortest, behind_a_try, before_a_try]


def interrupted(function, log, safepoints):
    task = stackless.tasklet(function)(log)
    assert stackless.run(safepoints) is task
    return task


@pytest.mark.parametrize("safepoints", range(1, 25))
@pytest.mark.parametrize("function", FUNCTIONS)
def test_it_is_caught_where_it_should_be(function, safepoints, switches):
    """Wherever the tasklet stands: inside, the handlers run; outside, the exception comes back."""
    log = []
    task = interrupted(function, log, safepoints)
    if "in" not in log or log[-1] != "in" or (function is shortest and safepoints < 6):
        task.kill()
        return
    try:
        task.throw(ValueError, "thrown")
        assert log == ["begins", "in", "thrown", "finally"]
    except ValueError:  # it stood in the loop around the `try`, or around the generator
        assert function in (in_a_generator, before_a_try)
        assert log == ["begins", "in", "finally"][: 2 + (function is in_a_generator)]
    assert not task.alive


@pytest.mark.parametrize("safepoints", range(1, 12))
def test_it_is_not_caught_before(safepoints, switches):
    """At the beginning of a function none of its handlers is entered yet."""

    def begins():
        try:
            return 1
        except ValueError:
            return 2

    def loop(log):
        while True:
            log.append(begins())

    log = []
    task = interrupted(loop, log, safepoints)
    with pytest.raises(ValueError, match="thrown") as caught:
        task.throw(ValueError, "thrown")
    lines = traceback.extract_tb(caught.tb)
    assert lines[-1].name in ("loop", "begins")
    assert set(log) <= {1}


@pytest.mark.parametrize("safepoints", range(1, 25))
def test_finally_runs_when_it_is_killed(safepoints, switches):
    """kill() of a preempted tasklet unwinds it."""
    log = []
    task = interrupted(guarded, log, safepoints)
    task.kill()
    assert not task.alive
    assert log in (["begins", "in", "finally"], ["begins"], [])


def test_it_may_continue_after_an_exception(switches):
    """Caught inside, it is interrupted again and continues."""
    log = []

    def loop():
        while len(log) < 5:
            try:
                while True:
                    nothing()
            except ValueError as error:
                log.append(error.args[0])
                stackless.schedule_remove()

    task = stackless.tasklet(loop)()
    for k in range(5):
        for _ in range(3):
            assert stackless.run(5) is task
            task.insert()
        task.throw(ValueError, k)
        task.insert()
    stackless.run()
    assert log == [0, 1, 2, 3, 4]
    assert not task.alive


def test_the_collector_finds_it(switches):
    """Its frames are seen: what only they reach is found.  As in Stackless, `finally` does not
    run."""

    class Thing:
        pass

    log = []

    def loop():
        thing = Thing()
        thing.task = stackless.getcurrent()
        log.append(weakref.ref(thing))
        try:
            for _ in iter(int, 1):
                pass
        finally:
            log.append("finally")

    task = stackless.tasklet(loop)()
    assert stackless.run(100) is task
    assert task.restorable
    del task
    gc.collect()
    gc.collect()
    assert log[1:] == []
    assert log[0]() is None


def test_it_leaks_nothing(switches):
    """Interrupted, thrown into, dropped and finished a thousand times over."""

    def loop(thing, n):
        kept = [thing]
        for _ in range(n):
            kept = [thing, (thing, *[thing for _ in (1, 2)])]
        return kept

    def round_(k):
        task = stackless.tasklet(loop)(thing, 10)
        while stackless.run(1 + k % 5) is task:
            if k % 3 == 0 and task.restorable:
                task.bind(None)
                break
            if k % 3 == 1:
                task.kill()
                break
            task.insert()

    thing = object()
    for k in range(30):
        round_(k)
    gc.collect()
    before = sys.getrefcount(thing), len(gc.get_objects())
    for k in range(1000):
        round_(k)
    gc.collect()
    assert sys.getrefcount(thing) == before[0]
    assert len(gc.get_objects()) < before[1] + 20
