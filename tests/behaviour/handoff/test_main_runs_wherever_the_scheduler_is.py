"""Main's function has a stack of ours and is main all the same; what called run() stays at home."""

import contextvars
import gc
import os
import queue
import signal
import sys
import threading
import weakref

import pytest
from helpers_c_calls import Gate, run, sit, teach, where

import loomlet
from loomlet import Channel, TaskletExit, _core, patch, schedule, spawn


def test_the_first_call_does_not_hold_main_up():
    """It sits in the thread that has called run(), and main ends it from another one."""

    def sit_once(gate):
        thread = where()
        gate.wait()
        return thread

    def main():
        home = where()
        with Gate() as gate:
            task = spawn(sit_once, gate)
            schedule()
            away = where() != home
            gate.open()
            return task.result() == home, away

    assert run(main) == (True, True)


def test_it_is_main_there():
    """To itself, to others, and to threading."""
    setting = contextvars.ContextVar("setting", default="none")

    def main():
        before = loomlet.current(), threading.current_thread(), threading.get_ident()
        token = setting.set("main's")
        with Gate() as gate:
            task = spawn(sit, gate)
            schedule()
            after = loomlet.current(), threading.current_thread(), threading.get_ident()
            gate.open()
            task.join()
        seen = setting.get()
        setting.reset(token)
        return before == after, before[0].is_main, before[0].name, seen

    assert run(main) == (True, True, "main", "main's")
    assert setting.get() == "none"
    assert loomlet.current().is_main


def test_what_run_was_called_in_is_whole():
    """Its handled exception, its context variables, its generator; arguments and result."""
    setting = contextvars.ContextVar("setting")

    def main(first, second):
        assert sys.exception() is None
        setting.set(first)
        with Gate() as gate:
            task = spawn(sit, gate)
            schedule()
            gate.open()
            task.join()
        return first, second

    def caller():
        try:
            raise KeyError("handled")
        except KeyError as error:
            yield run(main, 1, [2])
            assert sys.exception() is error
        yield setting.get()

    assert contextvars.copy_context().run(list, caller()) == [(1, [2]), 1]


def test_an_exception_of_main_is_raised_by_run():
    """With the traceback from the function that raised."""

    def main():
        with Gate() as gate:
            task = spawn(sit, gate)
            schedule()
            gate.open()
            task.join()
        raise ValueError("main's")

    with pytest.raises(ValueError, match="main's") as raised:
        run(main)
    assert raised.traceback[-1].name == "main"


def test_a_deadlock_is_main_s():
    """It is raised where main waits."""

    def main():
        with pytest.raises(loomlet.Deadlock, match="receive"):
            Channel().receive()
        return "raised"

    assert run(main) == "raised"


def test_nothing_of_the_function_is_kept():
    """Its frames, arguments and result are gone when run() has returned."""

    class Value:
        pass

    def main(value):
        spawn(schedule)
        schedule()
        return Value()

    given = Value()
    result = run(main, given)
    seen = [weakref.ref(given), weakref.ref(result)]
    del given, result
    if not _core._has_gil():
        gc.collect()  # what another thread has made dies when that thread, or this, looks at it
    assert [ref() for ref in seen] == [None, None]


@pytest.mark.parametrize("end", ["return", "raise"])
def test_others_end_while_one_sits_at_home(end):
    """Their `finally` runs, and lets it go: run() waits for that one."""
    log = []

    def clean_up():
        try:
            Channel().receive()
        finally:
            log.append("cleaned up")
            gate.open()

    def main():
        task = spawn(sit, gate)
        spawn(clean_up)
        schedule()
        schedule()
        if end == "raise":
            raise KeyError(task)
        return task

    with Gate() as gate:
        try:
            task = run(main)
        except KeyError as error:
            task = error.args[0]
    assert log == ["cleaned up"]
    assert task.state == "done"


def test_run_is_called_again_and_again():
    """Each time it begins on the thread's own stack."""

    def main(n):
        if n % 2:
            return loomlet.current().is_main
        with Gate() as gate:
            task = spawn(sit, gate)
            schedule()
            gate.open()
            return task.result() > 0

    assert all(run(main, n) for n in range(20))
    with pytest.raises(loomlet.TaskletError):
        run(lambda: loomlet.run(int, handoff=True))


def test_main_is_killed_where_it_is():
    """By a tasklet, while another one sits at home."""

    def main():
        with Gate() as gate:
            task, me = spawn(sit, gate), loomlet.current()

            def kill():
                me.throw(TaskletExit)
                gate.open()

            spawn(kill)
            try:
                Channel().receive()
            except TaskletExit:
                return task.result() > 0

    assert run(main)


def test_locks_of_main_are_main_s():
    """Acquired in one thread and released in another; nobody else releases an RLock."""

    def main():
        lock = threading.RLock()
        with Gate() as gate:
            task = spawn(sit, gate)
            with lock, lock:
                schedule()
                gate.open()
                task.join()
                loomlet.sleep(0.01)
                with pytest.raises(RuntimeError, match="un-acquired"):
                    spawn(lock.release).result()
            return lock.acquire(blocking=False)

    patch.install()
    try:
        assert run(main)
    finally:
        patch.uninstall()


@pytest.mark.parametrize("work", ["pass", "loomlet.schedule()", "loomlet.sleep(0)"])
def test_main_that_works_alone_goes_home(python, work):
    """Signals are served there, and nothing else calls the scheduler back."""
    done = python(
        """
        import ctypes, os, signal, sys, threading, loomlet
        sys.settrace(None)
        libc, buffer = ctypes.CDLL(None), ctypes.create_string_buffer(1)
        reader, writer = os.pipe()

        def main():
            home = libc.gettid()
            task = loomlet.spawn(libc.read, reader, buffer, 1)
            loomlet.schedule()
            assert libc.gettid() != home
            with loomlet.nopreempt():
                os.write(writer, b"x")
                while task.state != "done":
                    loomlet.schedule()
            threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
            while True:
                WORK

        try:
            loomlet.run(main, slice=0.001, handoff=True)
        except KeyboardInterrupt:
            print("interrupted")
        """.replace("WORK", work)
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


@pytest.mark.parametrize("wait", ["join", "sleep", "lock", "event", "queue"])
def test_main_keeps_no_stack_where_it_waits(wait):
    """So it may go on in another thread than the one where it began to wait."""

    def main():
        lock, event, line = threading.Lock(), threading.Event(), queue.Queue()
        lock.acquire()

        def end():
            schedule()
            line.put(1)
            event.set()
            lock.release()

        waits = {
            "join": lambda: ender.join(),
            "sleep": lambda: loomlet.sleep(0.001),
            "lock": lambda: lock.acquire(),
            "event": lambda: event.wait(),
            "queue": lambda: line.get(),
        }
        ender = spawn(end)
        before = _core.stats()["why_hard"]
        waits[wait]()
        return before, _core.stats()["why_hard"]

    before, after = run(main)
    assert before == after


def test_main_with_greenlets_stays_at_home():
    """Its other stacks are there."""
    from loomlet.compat.greenlet import getcurrent, greenlet

    def main():
        home = where()
        child = greenlet(lambda: getcurrent().parent.switch(where()))
        found = child.switch()
        with Gate() as gate:
            task = spawn(sit, gate)
            spawn(gate.open)
            task.join()
        child.switch()
        return found == home == where()

    assert run(main)
    assert run(main)


def test_greenlets_of_before_are_those_of_the_caller():
    """Main inside run() has others; a suspended one cannot run on a stack that it does not know."""
    from loomlet.compat.greenlet import error, getcurrent, greenlet

    child = greenlet(lambda: getcurrent().parent.switch("first"))
    assert child.switch() == "first"
    outside = getcurrent()

    def main():
        assert getcurrent() is not outside
        with pytest.raises(error):
            child.switch()
        with Gate() as gate:
            task = spawn(sit, gate)
            schedule()
            gate.open()
            task.join()
        return greenlet(lambda: "inside").switch()

    assert run(main) == "inside"
    assert getcurrent() is outside
    assert child.switch("second") == "second"


def test_a_handler_runs_at_home_although_main_is_apart():
    """Main has sat apart lately, but its handlers run at home: it need not go anywhere first."""
    handled = []

    def compute(gate):
        if gate is not None:
            gate.wait()
            return
        os.kill(os.getpid(), signal.SIGUSR1)
        while not handled:
            pass

    def main():
        with Gate() as gate:
            teach(compute, gate)
            spawn(gate.open)
            gate.wait()
        threads = len(os.listdir("/proc/self/task"))
        spawn(compute, None).join()
        return len(os.listdir("/proc/self/task")) - threads

    before = signal.signal(signal.SIGUSR1, lambda number, frame: handled.append(where()))
    try:
        assert run(main) <= 2
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert handled == [where()]
