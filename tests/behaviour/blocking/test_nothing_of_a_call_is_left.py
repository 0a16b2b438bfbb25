"""No reference and no thread stays behind, whatever comes out of a call or goes wrong with it."""

import gc
import sys
import threading
import weakref

import pytest

import loomlet
from loomlet import _core, blocking, run_blocking
from loomlet.testing import assert_no_leaks

FREE = not getattr(sys, "_is_gil_enabled", lambda: True)()


class Value:
    """An object whose end is noticed."""


def fails(value):
    """Its frame holds the value."""
    raise LookupError(value)


def test_arguments_are_gone_when_the_call_returns(mode):
    """The thread of the pool keeps nothing."""
    value = Value()
    dead = weakref.ref(value)

    def body():
        nonlocal value
        run_blocking(id, value)
        value = None
        return dead()

    assert loomlet.spawn(body).result() is None


def test_the_result_belongs_to_the_caller():
    """It is released with the caller's reference."""
    assert run_blocking(weakref.ref, (value := Value()))() is value
    dead = run_blocking(lambda: weakref.ref(Value()))
    assert dead() is None


@pytest.mark.skipif(FREE, reason="without the GIL what a thread has made may wait for it to die")
def test_an_exception_is_in_no_cycle(mode):
    """It is freed once it has been caught, without a collection."""
    value = Value()
    dead = weakref.ref(value)
    gc.collect()
    gc.disable()
    try:
        try:
            run_blocking(fails, value)
        except LookupError:
            pass
        del value
        assert dead() is None
    finally:
        gc.enable()


def test_destructors_of_arguments_run_before_the_caller_continues():
    """On the thread of the pool, where the last reference went."""
    died = []

    class Loud:
        def __del__(self):
            died.append(threading.get_ident())

    thread = run_blocking(lambda argument: threading.get_ident(), Loud())
    assert len(died) == 1
    assert run_blocking(threading.get_ident) == thread or blocking.threads().all > 1


def work(gate):
    """A result, an exception, a timeout."""
    run_blocking(list, (1, 2))
    with pytest.raises(LookupError):
        run_blocking(fails, [])
    with pytest.raises(TimeoutError), loomlet.timeout(0.0001):
        run_blocking(gate.wait, [])


def test_no_memory_is_left(mode, gate, until):
    """Of many calls, once the functions that were given up have ended."""
    gate.open()
    for _ in range(50):
        loomlet.spawn(run_blocking, list, (1, 2)).result()
    until(lambda: blocking.threads().idle == blocking.threads().all)
    with assert_no_leaks():
        for _ in range(500):
            loomlet.spawn(run_blocking, list, (1, 2)).result()
            with pytest.raises(LookupError):
                run_blocking(fails, [])
        until(lambda: blocking.threads().idle == blocking.threads().all)


@pytest.mark.parametrize("idle", [10, 0])
def test_each_allocation_fails_in_turn(mode, idle, failures):
    """MemoryError, and nothing was called; or the result.  Warm, and with a thread to start."""
    called = []

    def call():
        return run_blocking(called.append, 1)

    failed, count = True, 0
    while failed:
        count += 1
        blocking.configure(idle_seconds=idle)
        if idle == 0:
            while blocking.threads().all:
                loomlet.sleep(0.0005)  # for a thread to end
        called.clear()
        _core._fail_allocation(count)
        try:
            call()
            assert called == [1]
        except MemoryError:
            assert called == []
        finally:
            failed = _core._fail_allocation(0) == 0
        assert run_blocking(abs, -1) == 1
    assert count > 1


def test_without_a_thread_it_is_an_error(gate, begun):
    """If no thread starts, nothing is called; running calls continue, and the next call works."""
    task, called = begun("result"), []
    before = threading.stack_size()
    threading.stack_size(1 << 47)  # more than the system can provide
    try:
        with pytest.raises(RuntimeError, match="the system gives no more threads"):
            run_blocking(called.append, 1)
    finally:
        threading.stack_size(before)
    assert called == []
    assert run_blocking(abs, -1) == 1
    gate.open()
    assert task.result() == "result"


def test_a_bad_context_of_the_function_harms_no_other_call():
    """A function enters a context and does not leave it."""
    pytest.importorskip("ctypes")
    import contextvars
    import ctypes

    def enter():
        context = contextvars.Context()
        ctypes.pythonapi.PyContext_Enter(ctypes.py_object(context))
        return "entered"

    assert run_blocking(enter) == "entered"
    assert run_blocking(abs, -1) == 1
