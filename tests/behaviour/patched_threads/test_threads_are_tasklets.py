"""threading.Thread inside run(): a tasklet that all code takes for a thread."""

import _thread
import contextvars
import sys
import threading
import time

import pytest

import loomlet
from loomlet import patch

BEFORE = """
    import threading
    from threading import Thread, get_ident
    from _thread import start_new_thread
    import loomlet.patch
    loomlet.patch.install(threads=True)
"""
AFTER = """
    import loomlet.patch
    loomlet.patch.install(threads=True)
    import threading
    from threading import Thread, get_ident
    from _thread import start_new_thread
"""
BODY = """
    import loomlet
    def main():
        seen = []
        note = lambda: seen.append((loomlet.current(), get_ident(), threading.get_ident()))
        thread = Thread(target=note)
        thread.start()
        thread.join()
        start_new_thread(note, ())
        while len(seen) < 2:
            loomlet.schedule()
        assert not any(task.is_main for task, *_ in seen)
        assert len({ident for _, *idents in seen for ident in idents}) == 2
        assert thread.ident == seen[0][1]
        print(threading.get_native_id() == threading.main_thread().native_id)
    loomlet.run(main)
"""


def run_in_threads(*bodies):
    """Runs each in a Thread of its own, all at once, inside run()."""

    def main():
        threads = [threading.Thread(target=body) for body in bodies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    loomlet.run(main)


@pytest.mark.parametrize("order", [BEFORE, AFTER], ids=["imports first", "patch first"])
def test_the_order_of_imports_does_not_matter(python, order):
    """Names that were bound before install() lead to the same functions."""
    done = python(order + BODY)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_it_runs_in_the_thread_that_starts_it():
    """As a tasklet with the Thread's name; without handoff the system's thread is the same."""
    seen = []

    def body():
        task = loomlet.current()
        seen.append((task.is_main, task.name, threading.get_native_id()))

    def main():
        thread = threading.Thread(target=body, name="worker")
        thread.start()
        thread.join()
        assert thread.native_id == threading.get_native_id()

    loomlet.run(main, handoff=False)
    assert seen == [(False, "worker", threading.get_native_id())]


def test_each_has_an_identity():
    """current_thread(), get_ident() and `ident` agree, and all are different."""
    seen = []

    def body():
        time.sleep(0)  # all have begun
        me = threading.current_thread()
        assert me.ident == threading.get_ident() == _thread.get_ident()
        seen.append((me, me.ident))

    run_in_threads(*[body] * 20)
    assert len({me for me, _ in seen}) == len({ident for _, ident in seen}) == 20
    assert threading.main_thread().ident == threading.get_ident()


def test_a_spawned_tasklet_is_a_part_of_its_thread():
    """It has the thread's ident, and the thread's Thread."""

    def main():
        task = loomlet.spawn(lambda: (threading.get_ident(), threading.current_thread()))
        assert task.result() == (threading.get_ident(), threading.main_thread())

    loomlet.run(main)


def test_it_is_enumerated_while_it_lives():
    """enumerate() and active_count() know it from start() to its end."""

    def main():
        go = threading.Event()
        thread = threading.Thread(target=go.wait)
        assert (thread.ident, thread.is_alive()) == (None, False)
        count = threading.active_count()
        thread.start()
        assert threading.active_count() == count + 1
        assert thread in threading.enumerate()
        assert thread.is_alive()
        go.set()
        thread.join()
        assert threading.active_count() == count
        assert thread not in threading.enumerate()
        assert not thread.is_alive()

    loomlet.run(main)


def test_join_has_a_timeout():
    """join() returns when the time is over; is_alive() says that the thread continues."""

    def main():
        go = threading.Event()
        thread = threading.Thread(target=go.wait)
        thread.start()
        assert thread.join(timeout=0.001) is None
        assert thread.join(0) is None
        assert thread.is_alive()
        go.set()
        thread.join(60)
        assert not thread.is_alive()
        assert thread.join() is None  # any number of times

    loomlet.run(main)


def test_many_join_the_same_thread():
    """All continue when it has ended."""
    done = []

    def main():
        go = threading.Event()
        thread = threading.Thread(target=go.wait)
        thread.start()

        def join():
            thread.join()
            done.append(thread.is_alive())

        joiners = [threading.Thread(target=join) for _ in range(5)]
        joiners += [loomlet.spawn(join) for _ in range(5)]
        for joiner in joiners[:5]:
            joiner.start()
        loomlet.schedule()
        assert done == []
        go.set()
        for joiner in joiners:
            joiner.join()

    loomlet.run(main)
    assert done == [False] * 10


def test_a_thread_of_the_system_joins_it():
    """One without tasklets waits as usual."""

    def main():
        go = threading.Event()
        thread = threading.Thread(target=go.wait)
        thread.start()
        patch.uninstall()
        joined = []
        other = threading.Thread(target=lambda: joined.append(thread.join(60)))
        other.start()
        patch.install(threads=True)
        go.set()
        thread.join()
        other.join()
        assert joined == [None]

    loomlet.run(main)


def test_misuse_raises_the_usual_errors():
    """Starting twice, joining before the start, joining oneself."""

    def main():
        thread = threading.Thread(target=lambda: None)
        with pytest.raises(RuntimeError, match="cannot join thread before it is started"):
            thread.join()
        thread.start()
        with pytest.raises(RuntimeError, match="threads can only be started once"):
            thread.start()
        thread.join()
        errors = []

        def join_itself():
            try:
                threading.current_thread().join()
            except RuntimeError as error:
                errors.append(str(error))

        thread = threading.Thread(target=join_itself)
        thread.start()
        thread.join()
        assert errors == ["cannot join current thread"]
        with pytest.raises(TypeError):
            _thread.start_new_thread(3, ())
        with pytest.raises(TypeError):
            _thread.start_new_thread(print, 3)

    loomlet.run(main)


def test_a_daemon_is_one():
    """The flag is inherited and kept; it cannot be changed while the thread runs."""
    seen = []

    def child():
        seen.append(threading.current_thread().daemon)

    def body():
        one = threading.Thread(target=child)
        one.start()
        one.join()

    def main():
        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        with pytest.raises(RuntimeError, match="cannot set daemon status of active thread"):
            thread.daemon = False
        thread.join()

    loomlet.run(main)
    assert seen == [True]


def test_its_exception_goes_to_excepthook(monkeypatch):
    """With the Thread, and nothing of it reaches the error handler of loomlet."""
    seen = []
    monkeypatch.setattr(
        threading, "excepthook", lambda args: seen.append(args[:2] + (args.thread,))
    )
    thread = threading.Thread(target=lambda: 1 / 0)

    def main():
        thread.start()
        thread.join()

    loomlet.run(main)
    assert [(kind, str(value), who) for kind, value, who in seen] == [
        (ZeroDivisionError, "division by zero", thread)
    ]


def test_system_exit_ends_a_thread_in_silence(capfd):
    """sys.exit() and _thread.exit() end the thread, not the program."""
    run_in_threads(sys.exit, _thread.exit)

    def main():
        _thread.start_new_thread(sys.exit, (3,))
        loomlet.schedule()

    loomlet.run(main)
    assert capfd.readouterr() == ("", "")


def test_a_kill_ends_it_in_silence(capfd):
    """Its `finally` runs, its joiners continue."""
    ended = []

    def body(tasks):
        tasks.append(loomlet.current())
        try:
            threading.Event().wait()
        finally:
            ended.append(True)

    def main():
        tasks = []
        thread = threading.Thread(target=body, args=(tasks,))
        thread.start()
        loomlet.schedule()
        tasks[0].kill()
        thread.join()

    loomlet.run(main)
    assert ended == [True]
    assert capfd.readouterr() == ("", "")


def test_an_interrupt_from_the_keyboard_is_for_main():
    """KeyboardInterrupt comes up in the main tasklet, wherever the signal found the program."""

    def body():
        raise KeyboardInterrupt

    def main():
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        threading.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        loomlet.run(main)


def test_a_low_level_thread(monkeypatch):
    """start_new_thread(): gives the ident; keywords; a failure is for sys.unraisablehook."""
    seen, failures = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: failures.append(args.exc_type))

    def body(*args, **names):
        seen.append((args, names, threading.get_ident()))
        raise KeyError

    def main():
        ident = _thread.start_new_thread(body, (1, 2), {"three": 3})
        loomlet.schedule()
        assert seen == [((1, 2), {"three": 3}, ident)]

    loomlet.run(main)
    assert failures == [KeyError]


def test_a_low_level_thread_may_ask_for_its_identity():
    """current_thread() makes a dummy for it, which goes with it."""
    names = []

    def main():
        before = len(threading._active)
        for _ in range(10):
            _thread.start_new_thread(lambda: names.append(threading.current_thread().name), ())
        loomlet.schedule()
        assert len(threading._active) == before

    loomlet.run(main)
    assert len(names) == 10
    assert all(name.startswith("Dummy") for name in names)


def test_its_context_is_that_of_a_new_thread():
    """contextvars are as in a thread of the system, not those of the starting thread."""
    var = contextvars.ContextVar("var", default="unset")
    seen = []

    def see():
        seen.append(var.get())
        var.set("mine")

    def start():
        var.set("starter's")
        thread = threading.Thread(target=see)
        thread.start()
        thread.join()
        seen.append(var.get())

    loomlet.run(contextvars.Context().run, start)
    patch.uninstall()
    contextvars.Context().run(start)
    assert seen[:2] == seen[2:]
    assert seen[1] == "starter's"


def test_settrace_for_all_threads():
    """threading.settrace() is for each thread that starts; it is on nowhere else."""
    traced = []

    def tracer(frame, event, arg):
        traced.append(threading.current_thread())

    def main():
        threading.settrace(tracer)
        try:
            thread = threading.Thread(target=lambda: None)
            thread.start()
            thread.join()
        finally:
            threading.settrace(None)
        assert set(traced) == {thread}
        assert sys.gettrace() is not tracer

    loomlet.run(main)


def test_a_timer_calls_later_and_can_be_cancelled():
    """threading.Timer, its arguments, and cancel()."""
    called = []

    def main():
        first = threading.Timer(0.001, lambda *a, **k: called.append((a, k)), [1], {"two": 2})
        never = threading.Timer(60, called.append, ["never"])
        never.start()
        first.start()
        first.join()
        never.cancel()
        never.join()

    loomlet.run(main)
    assert called == [((1,), {"two": 2})]


def test_a_subclass_with_a_run_of_its_own():
    """run() is overridden, as programs often do."""

    class Worker(threading.Thread):
        def __init__(self):
            super().__init__(name="own")
            self.seen = None

        def run(self):
            self.seen = (threading.current_thread() is self, loomlet.current().name)

    worker = Worker()

    def main():
        worker.start()
        worker.join()

    loomlet.run(main)
    assert worker.seen == (True, "own")


def test_threads_start_threads():
    """Three deep, each waits for its own."""
    seen = []

    def body(depth):
        if depth:
            child = threading.Thread(target=body, args=(depth - 1,))
            child.start()
            child.join()
        seen.append(depth)

    run_in_threads(lambda: body(3))
    assert seen == [0, 1, 2, 3]


def test_thousands_of_them():
    """More than a system would allow as threads."""
    count = 3000
    running = []

    def main():
        go = threading.Event()
        threads = [threading.Thread(target=lambda: running.append(go.wait())) for _ in range(count)]
        for thread in threads:
            thread.start()
        assert threading.active_count() >= count
        go.set()
        for thread in threads:
            thread.join()

    loomlet.run(main)
    assert running == [True] * count


@pytest.mark.skipif(not hasattr(_thread, "start_joinable_thread"), reason="3.13 on")
def test_a_thread_cannot_join_itself():
    """The handle says so, as that of a thread of the system does."""
    raised = []

    def join():
        started.acquire()
        try:
            handle.join()
        except RuntimeError as error:
            raised.append(str(error))

    def main():
        nonlocal handle
        handle = _thread.start_joinable_thread(join)
        started.release()
        handle.join()
        handle.join()

    handle = None
    started = threading.Lock()
    started.acquire()
    loomlet.run(main)
    assert raised == ["Cannot join current thread"]
