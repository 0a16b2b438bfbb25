"""Signals, forks, other pending calls and the end of the process work while slices are on."""

import os

import pytest


def test_a_signal_reaches_its_handler(python):
    """A handler runs beside loops that are interrupted all the time."""
    done = python(
        """
        import os, signal, threading, time
        import loomlet

        got = []
        signal.signal(signal.SIGUSR1, lambda *_: got.append(1))

        def loop():
            end = time.monotonic() + 60
            while not got and time.monotonic() < end:
                pass

        def main():
            tasks = [loomlet.spawn(loop) for _ in range(3)]
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            for task in tasks:
                task.join()

        loomlet.run(main, slice=0.0002)
        print(got)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1]\n", "")


def test_keyboard_interrupt_reaches_main(python):
    """Ctrl-C ends a program whose tasklets spin."""
    done = python(
        """
        import os, signal, threading
        import loomlet

        def loop():
            while True:
                pass

        def main():
            for _ in range(3):
                loomlet.spawn(loop)
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                loop()
            except KeyboardInterrupt:
                print("main")

        loomlet.run(main, slice=0.0002)
        """
    )
    assert (done.returncode, done.stdout) == (0, "main\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork(python):
    """Slices continue in the parent and in the child."""
    done = python(
        """
        import os, sys, time, warnings
        import loomlet

        warnings.simplefilter("ignore", DeprecationWarning)

        def beside_a_loop():
            log = []
            loomlet.spawn(log.append, "ran")
            end = time.monotonic() + 60
            while not log and time.monotonic() < end:
                pass
            return bool(log)

        def main():
            assert beside_a_loop()
            for _ in range(20):
                child = os.fork()
                ran = beside_a_loop()
                if child == 0:
                    os._exit(7 if ran else 1)
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
                assert ran
            print("forked")

        loomlet.run(main, slice=0.0002)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "forked\n", "")


def test_pending_calls_of_others_are_run(python):
    """A pending call that another library asks for is run once, also while tasklets spin."""
    done = python(
        """
        import ctypes, time
        import loomlet

        calls = []
        Call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)

        def call(_):
            calls.append(1)
            for _ in range(5000):
                pass
            return 0

        made = Call(call)
        ask = ctypes.pythonapi.Py_AddPendingCall
        ask.argtypes = [Call, ctypes.c_void_p]

        def loop(asks):
            end = time.monotonic() + 60
            asked = 0
            while len(calls) < 300 and time.monotonic() < end:
                if asks and asked < 300 and len(calls) == asked:
                    asked += ask(made, None) == 0

        def main():
            for task in [loomlet.spawn(loop, n == 0) for n in range(3)]:
                task.join()

        loomlet.run(main, slice=0.0002)
        print(len(calls))
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "300\n", "")


def test_the_process_ends_at_once(python):
    """Neither the monitor thread nor a daemon thread that spins in run() holds up the exit."""
    done = python(
        """
        import threading, time
        import loomlet

        begun = threading.Event()  # 3.13t may crash if it ends while a thread imports

        def loop():
            begun.set()
            while True:
                pass

        def main():
            loomlet.spawn(loop)
            while True:
                pass

        threading.Thread(target=loomlet.run, args=(main,), kwargs={"slice": 0.0002},
                         daemon=True).start()
        begun.wait()
        loomlet.run(lambda: time.sleep(0.05), slice=0.0002)
        print("end")
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_it_ends_while_a_daemon_thread_reports_a_stall(python):
    """The report runs Python code, which may stop all threads and need not come to an end."""
    done = python(
        """
        import gc, threading, time, warnings
        import loomlet

        told = threading.Event()

        def tell(*_):
            told.set()
            while True:
                gc.collect()

        warnings.showwarning = tell
        warnings.simplefilter("always")

        def loop():
            while True:
                pass

        def stalls():
            loomlet.spawn(loop)
            time.sleep(0.7)  # a call of C that takes longer than a warning does
            loop()

        def spins():
            loomlet.spawn(loop)
            loop()

        options = {"slice": 0.0002, "handoff": False}
        for main in stalls, spins:
            threading.Thread(target=loomlet.run, args=[main], kwargs=options, daemon=True).start()
        told.wait()
        print("end")
        """
    )
    assert (done.returncode, done.stdout) == (0, "end\n")


def test_it_ends_while_a_daemon_thread_counts(python):
    """A run() with a timeout in a daemon thread does not hold up the exit either."""
    done = python(
        """
        import threading, time
        import loomlet.compat.stackless as stackless

        def loop():
            while True:
                pass

        def counts():
            stackless.tasklet(loop)()
            while True:
                stackless.run(1000).insert()

        threading.Thread(target=counts, daemon=True).start()
        time.sleep(0.05)  # it has begun to count
        print("end")
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_an_exit_ends_it_while_ticks_are_counted(python):
    """sys.exit() in a tasklet below run(timeout) ends the process, with its exit functions."""
    done = python(
        """
        import atexit, sys
        import loomlet.compat.stackless as stackless

        def loop():
            while True:
                pass

        def late():
            for _ in range(10000):
                pass
            print("late")

        atexit.register(late)
        stackless.tasklet(loop)()
        stackless.tasklet(sys.exit)(3)
        while True:
            stackless.run(100).insert()
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "late\n", "")


def test_threads_that_outlive_main_are_interrupted(python):
    """The interpreter waits for threads at its end; their ticks and slices continue meanwhile."""
    done = python(
        """
        import threading
        import loomlet
        import loomlet.compat.stackless as stackless

        def loop():
            while True:
                pass

        def counts():
            threading.main_thread().join()
            stackless.tasklet(loop)()
            for _ in range(100):
                task = stackless.run(100)
                task.insert()
            task.kill()
            print("counted ", end="", flush=True)

        def slices():
            threading.main_thread().join()
            log = []

            def main():
                loomlet.spawn(log.append, 1)
                while not log:
                    pass

            loomlet.run(main, slice=0.001)
            print("sliced ", end="", flush=True)

        threading.Thread(target=counts).start()
        threading.Thread(target=slices).start()
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.split()) == ["counted", "sliced"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_beside_threads_that_count(python):
    """The child counts the ticks of the thread that forked, and forgets the others."""
    done = python(
        """
        import os, threading, warnings
        import loomlet.compat.stackless as stackless

        warnings.simplefilter("ignore", DeprecationWarning)
        turns, over = [], []

        def loop():
            while True:
                pass

        def counts(turns, until):
            task = stackless.tasklet(loop)()
            while not until():
                turns.append(1)
                stackless.run(7).insert()
            task.kill()

        def forks():
            for _ in range(5):
                child = os.fork()
                before = len(turns)
                while len(turns) < before + 20:
                    pass
                if child == 0:
                    os._exit(7)
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            over.append(1)

        def spin():
            for _ in range(100):
                pass

        os.register_at_fork(after_in_child=spin)  # it runs before loomlet has handled the fork
        threads = [threading.Thread(target=counts, args=([], lambda: over)) for _ in range(3)]
        for thread in threads:
            thread.start()
        stackless.tasklet(forks)()
        counts(turns, lambda: over)
        for thread in threads:
            thread.join()
        print("forked")
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "forked\n", "")
