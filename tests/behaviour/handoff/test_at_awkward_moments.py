"""While one sits in C: what could be lost, doubled or waited for in vain at that moment."""

import ctypes
import os
import threading

import pytest
from helpers_c_calls import Gate, run

import loomlet
from loomlet import schedule, spawn

call_of_c = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
add_pending_call = ctypes.pythonapi.Py_AddPendingCall
add_pending_call.argtypes = [call_of_c, ctypes.c_void_p]


def test_four_hundred_return_at_once():
    """Each meets the scheduler once, and has its own result."""

    def sit_and_say(gate, n):
        gate.wait()
        return n

    def main():
        with Gate() as gate:
            tasks = [spawn(sit_and_say, gate, n) for n in range(400)]
            spawn(lambda: [gate.open() for _ in tasks])
            return [task.result() for task in tasks]

    assert run(main) == list(range(400))


def test_the_queue_of_pending_calls_is_full():
    """Of the interpreter, which calls every thread back by it; nothing in it is lost.

    The first one sits at home, of which nothing is known yet: so home does not empty the queue."""
    made, added = [], 0

    def sit_at_home(gate):
        gate.wait()

    @call_of_c
    def note(_):
        made.append(None)
        return 0

    def fill():
        nonlocal added
        with loomlet.nopreempt():
            while add_pending_call(note, None) == 0:
                added += 1

    def main():
        with Gate() as gate:
            tasks = [spawn(sit_at_home, gate) for _ in range(5)]
            schedule()
            fill()
            spawn(lambda: [gate.open() for _ in tasks])
            for task in tasks:
                task.join()
        while len(made) < added:
            schedule()

    run(main)
    assert len(made) == added > 0


@pytest.mark.parametrize("error", [SystemExit(3), KeyError("end")], ids=["exit", "fails"])
def test_main_ends_while_one_sits(error):
    """run() waits for the call, and raises what main did."""

    def main():
        task = spawn(lambda: gate.wait())
        while task.state != "blocked":
            schedule()
        threading.Timer(0.01, gate.open).start()
        ended.append(task)
        raise error

    ended = []
    with Gate() as gate, pytest.raises(type(error)) as raised:
        run(main)
    assert raised.value is error
    assert ended[0].state == "done"


def test_its_thread_ends_while_the_scheduler_is_away():
    """Another thread than the first, with a run() of its own; its sitter ends before."""

    def main():
        task = spawn(lambda: gate.wait())
        while task.state != "blocked":
            schedule()
        spawn(gate.open)
        schedule()
        return task

    with Gate() as gate:
        ended = []
        thread = threading.Thread(target=lambda: ended.append(run(main)))
        thread.start()
        thread.join()
    assert ended[0].state == "done"


@pytest.mark.parametrize("end", ["sys.exit(3)", "os.kill(os.getpid(), signal.SIGINT)"])
def test_the_interpreter_ends_while_a_thread_sits(python, end):
    """A daemon, for which it does not wait; the status is that of main's end."""
    done = python(
        f"""
        import ctypes, os, signal, sys, threading, time
        import loomlet, loomlet.patch
        sys.settrace(None)
        loomlet.patch.install(threads=True)
        libc, buffer = ctypes.CDLL(None), ctypes.create_string_buffer(1)
        reader, writer = os.pipe()

        def main():
            begun = threading.Event()
            def sit():
                begun.set()
                libc.read(reader, buffer, 1)
            threading.Thread(target=sit, daemon=True).start()
            begun.wait()
            for _ in range(20):
                time.sleep(0.001)
            try:
                {end}
                time.sleep(1000)
            except KeyboardInterrupt:
                sys.exit(3)

        loomlet.run(main, slice=0.001)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


def test_a_signal_from_a_thread_while_main_sits_at_home(python):
    """Its handler runs when the call has returned; nothing runs twice meanwhile."""
    done = python(
        """
        import ctypes, os, signal, sys, threading, loomlet
        sys.settrace(None)
        libc, buffer = ctypes.CDLL(None), ctypes.create_string_buffer(1)
        reader, writer = os.pipe()
        steps = []

        def tick():
            while True:
                steps.append(len(steps))
                loomlet.sleep(0.0001)

        def interrupt():
            while len(steps) < 50:
                pass
            os.kill(os.getpid(), signal.SIGINT)
            before = len(steps)
            while len(steps) < before + 50:
                pass
            os.write(writer, b"x")

        def main():
            signal.siginterrupt(signal.SIGINT, False)  # the call goes on
            loomlet.spawn(tick)
            threading.Thread(target=interrupt).start()
            while True:
                libc.read(reader, buffer, 1)

        try:
            loomlet.run(main, slice=0.001, handoff=True)
        except KeyboardInterrupt:
            print(steps == list(range(len(steps))))
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_threads_that_are_tasklets_at_the_end_of_the_interpreter(python):
    """No thread begins for them any more, so they run where the scheduler is."""
    done = python(
        """
        import ctypes, loomlet, sys, threading
        from loomlet import _core, patch
        sys.settrace(None)
        patch.install(threads=True)
        numbers, gettid = set(), ctypes.CDLL(None).gettid

        def main():
            note = lambda: numbers.add(gettid())
            threads = [threading.Thread(target=note) for _ in range(5)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        _core._stop_threads()
        loomlet.run(main, handoff=True)
        print(len(numbers))
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_a_thread_wakes_when_the_interpreter_has_ended(python):
    """It stands by for a second after a call that was handed over, and then ends."""
    done = python(
        f"""
        import ctypes, sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        sys.settrace(None)
        from helpers_c_calls import Gate, run, sit, teach
        from loomlet import spawn

        def main():
            with Gate() as gate:
                teach(sit, gate)
                tasks = [spawn(sit, gate) for _ in range(20)]
                for task in tasks:
                    gate.open()
                    task.join()

        run(main)
        libc = ctypes.CDLL(None)
        libc.on_exit(libc.sleep, None)  # for as many seconds as the status says: past that second
        sys.exit(1)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
