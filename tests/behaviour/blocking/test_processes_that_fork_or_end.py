"""fork and exit: the child's pool is empty; an interpreter that ends waits for functions."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(
    "call", ["run_blocking(wait)", "sorted([0], key=lambda n: run_blocking(wait))"]
)
def test_fork_while_functions_run(python, call):
    """Waiting tasklets of the child get an error, the parent's continue; both can call again."""
    done = python(
        f"""
        import os, threading, warnings
        import loomlet
        from loomlet import blocking, run_blocking
        warnings.simplefilter("ignore", DeprecationWarning)     # threads and fork

        go, inside = threading.Event(), threading.Event()

        def wait():
            inside.set()
            go.wait()
            return "waited"

        def body():
            try:
                {call}
                return "continued"
            except RuntimeError as error:
                return str(error).partition(":")[0]

        task = loomlet.spawn(body)
        loomlet.schedule()
        inside.wait()
        blocking.configure(max_threads=1)
        queued = loomlet.spawn(run_blocking, abs, -1)
        loomlet.schedule()
        loomlet.set_error_handler(lambda task, error: None)     # of `queued`, in the child
        child = os.fork()
        if child == 0:
            assert blocking.threads() == (0, 0)
            assert task.result() == "run_blocking() was waiting during os.fork()", task
            try:
                queued.result()
                os._exit(2)
            except RuntimeError:
                pass
            assert [run_blocking(abs, -n) for n in range(50)] == list(range(50))
            assert blocking.threads().all == 1
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        go.set()
        print(task.result(), queued.result())
        """
    )
    assert (done.stdout, done.stderr) == ("continued 1\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork_beside_idle_threads_and_in_a_function(python):
    """A thread of the pool that forks is the only one in the child, and works there."""
    done = python(
        """
        import os, warnings
        import loomlet
        from loomlet import blocking, run_blocking
        warnings.simplefilter("ignore", DeprecationWarning)

        def fork():
            child = os.fork()
            if child == 0:
                ok = blocking.threads() == (1, 0) and run_blocking(abs, -3) == 3
                os._exit(7 if ok else 1)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        print(run_blocking(fork), fork() == 1, run_blocking(fork))
        """
    )
    assert (done.stdout, done.stderr) == ("7 True 7\n", "")


def test_the_child_of_an_interpreter_that_waits_ends_too(python):
    """The child's exit does not wait for threads of the parent."""
    done = python(
        """
        import os, sys, threading, warnings
        import loomlet
        warnings.simplefilter("ignore", DeprecationWarning)

        go = threading.Event()
        task = loomlet.spawn(loomlet.run_blocking, go.wait)
        loomlet.schedule()
        child = os.fork()
        if child == 0:
            sys.exit(5)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        go.set()
        task.result()
        """
    )
    assert (done.stdout, done.stderr) == ("5\n", "")


def test_children_of_functions_get_no_blocked_signals(python):
    """A thread of the pool has its caller's signal mask, and so do processes that it starts."""
    done = python(
        """
        import signal, subprocess, sys
        from loomlet import run_blocking
        show = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))"
        print(run_blocking(subprocess.check_output, [sys.executable, "-c", show], text=True))
        """
    )
    assert (done.stdout.strip(), done.stderr) == ("set()", "")


def test_exit_waits_for_a_function(python):
    """Even when no tasklet waits for its result any more."""
    done = python(
        """
        import time
        import loomlet

        def slow():
            time.sleep(0.2)         # longer than it takes to end
            print("function ended", flush=True)

        def main():
            loomlet.spawn(loomlet.run_blocking, slow)
            loomlet.sleep(0.05)

        loomlet.run(main)
        print("main ended", flush=True)
        """
    )
    assert (done.stdout, done.stderr) == ("main ended\nfunction ended\n", "")
    assert done.returncode == 0


@pytest.mark.parametrize("function", ["threading.Event().wait", "spin"])
def test_exit_does_not_wait_for_ever(python, function):
    """It says how many threads are left, and ends without a crash."""
    done = python(
        f"""
        import threading
        import loomlet

        def spin():
            while True:
                pass

        loomlet.blocking.configure(exit_seconds=0.1)
        for _ in range(3):
            loomlet.spawn(loomlet.run_blocking, {function})
        loomlet.sleep(0.05)
        """
    )
    assert done.returncode == 0
    assert (
        "the interpreter exits while 3 threads of run_blocking() are still running" in done.stderr
    )


def test_exit_with_idle_threads(python):
    """They end with it, at once."""
    done = python(
        """
        import threading
        import loomlet
        together = threading.Barrier(20)
        for task in [loomlet.spawn(loomlet.run_blocking, together.wait) for _ in range(20)]:
            task.result()
        print(loomlet.blocking.threads().all)
        """
    )
    assert (done.stdout, done.stderr, done.returncode) == ("20\n", "", 0)


def test_at_exit_nothing_new_is_taken(python):
    """Functions registered after loomlet was imported still may; then it is an error."""
    done = python(
        """
        import atexit

        def late():
            try:
                loomlet.run_blocking(abs, -1)
            except RuntimeError as error:
                print(error)

        atexit.register(late)
        import loomlet
        atexit.register(lambda: print(loomlet.run_blocking(abs, -1)))

        go = loomlet.Channel()
        blocked = loomlet.spawn(loomlet.run_blocking, __import__("time").sleep, 0.2)
        loomlet.blocking.configure(max_threads=1)
        queued = loomlet.spawn(loomlet.run_blocking, print, "never called")
        loomlet.schedule()
        loomlet.blocking.configure(max_threads=2)
        """
    )
    first, *rest = done.stdout.splitlines()
    assert "never called" in first or first == "1"
    assert "the interpreter is shutting down" in rest[-1]
    assert (done.stderr, done.returncode) == ("", 0)


def test_a_queued_function_is_not_called_at_exit(python):
    """Nor does it delay the exit."""
    done = python(
        """
        import time
        import loomlet
        loomlet.blocking.configure(max_threads=1)
        for call in ((time.sleep, 0.1), (print, "called")):
            loomlet.spawn(loomlet.run_blocking, *call)
        loomlet.schedule()
        """
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_ctrl_c_ends_the_wait_at_exit():
    """Like a second Ctrl-C that ends a program whose threads still run."""
    program = """
        import threading
        import loomlet
        loomlet.spawn(loomlet.run_blocking, threading.Event().wait)
        loomlet.schedule()
        print("ends", flush=True)
        """
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.5)  # long enough to be at its end
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 0
    assert b"KeyboardInterrupt" in err


def test_ctrl_c_reaches_main_while_it_waits():
    """The function continues; the program ends after it."""
    program = """
        import time
        import loomlet
        def slow():
            print("begins", flush=True)
            time.sleep(1)           # long enough for the signal to come
            print("ended", flush=True)
        try:
            loomlet.run_blocking(slow)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (out, err) == (b"interrupted\nended\n", b"")


def test_no_thread_begins_at_the_end_of_the_interpreter(python):
    """Its thread state would come into a list that is being cleared."""
    done = python(
        """
        import os
        import loomlet
        from loomlet import _core
        _core._stop_threads()
        try:
            loomlet.run_blocking(print, "called")
        except RuntimeError as error:
            print(error)
        print(len(os.listdir("/proc/self/task")))
        """
    )
    assert (done.stderr, done.returncode) == ("", 0)
    message, threads = done.stdout.splitlines()
    assert "shutting down" in message and int(threads) <= 2
