"""fork while tasklets wait for builtin locks."""

import os
import textwrap

import pytest

if not hasattr(os, "fork"):
    pytest.skip("this system has no fork", allow_module_level=True)


PROGRAM = """
import os, threading, warnings
{before_import}
import loomlet
from loomlet import _core
warnings.simplefilter("ignore")
_core._patch_builtin_locks()
{after_patch}
begun, log = threading.Event(), []

def work(name):
    with lock:
        log.append(name)

def other_main():
    task = loomlet.spawn(work, "other thread")
    loomlet.schedule()
    begun.set()
    task.join()

def hold():
    lock.acquire()
    thread = threading.Thread(target=loomlet.run, args=(other_main,))
    thread.start()
    begun.wait()
    return thread

{main}
loomlet.run(main)
"""


def run_beside_a_waiter(python, main, before_import="", after_patch=""):
    """Runs main(); its hold() takes `lock`, for which a tasklet of another thread then waits."""
    main = textwrap.dedent(main)
    return python(PROGRAM.format(main=main, before_import=before_import, after_patch=after_patch))


def test_waiters_continue_in_both_processes(python):
    """A lock is handed to the forking thread's tasklets in parent and child; other threads' wait
    no more in the child."""
    done = run_beside_a_waiter(
        python,
        """
        def main():
            thread = hold()
            tasks = [loomlet.spawn(work, n) for n in range(2)]
            loomlet.schedule()
            child = os.fork()
            lock.release()
            for task in tasks:
                task.join()
            if child == 0:
                os._exit(len(log))
            thread.join()
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(log), lock.locked())
        """,
        after_patch="lock = threading.Lock()",
    )
    assert (done.stdout, done.stderr) == ("2 3 False\n", "")


def test_tasklets_that_fork_at_once(python):
    """A before-fork hook may let another tasklet run, which may fork as well; afterwards slices
    still work in all three processes."""
    done = python(
        """
        import os, warnings
        warnings.simplefilter("ignore")
        os.register_at_fork(before=lambda: loomlet.schedule())
        import loomlet

        def spin(ended):
            while not ended:
                pass

        def fork():
            child = os.fork()
            if child:
                return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            ended = []
            others = [loomlet.spawn(spin, ended) for _ in range(2)]
            loomlet.sleep(0.01)  # the spinning ones must be interrupted for this to come back
            ended.append(1)
            os._exit(7)

        def main():
            print(*[task.result() for task in [loomlet.spawn(fork), loomlet.spawn(fork)]])
            ended = []
            loomlet.spawn(spin, ended)
            loomlet.sleep(0.01)  # as above
            ended.append(1)
            print("end")

        loomlet.run(main, slice=0.001)
        """
    )
    assert (done.stdout, done.stderr) == ("7 7\nend\n", "")


def test_a_lock_held_by_a_tasklet_stays_held(python):
    """Libraries free their locks in the child, for the threads that are gone; logging does.  The
    tasklets are not gone: the one that holds a handler's lock finds it held."""
    done = python(
        """
        import logging, os, sys, warnings
        import loomlet
        from loomlet import _core
        warnings.simplefilter("ignore")
        _core._patch_builtin_locks()
        gate = loomlet.Channel()

        class Slow(logging.StreamHandler):
            def emit(self, record):
                if record.msg == "slow":
                    gate.receive()
                super().emit(record)

        logger = logging.Logger("test")
        logger.addHandler(Slow(sys.stdout))

        def main():
            slow = loomlet.spawn(logger.warning, "slow")
            loomlet.schedule()
            quick = loomlet.spawn(logger.warning, "quick")
            loomlet.schedule()
            child = os.fork()
            gate.send(None)
            slow.join()
            quick.join()
            sys.stdout.flush()
            if child == 0:
                os._exit(0)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

        loomlet.run(main)
        """
    )
    assert done.stderr == ""
    assert done.stdout.splitlines().count("slow") == 2
    assert done.stdout.splitlines().count("quick") == 2
    assert done.stdout.endswith("0\n")


def test_a_lock_that_is_freed_in_the_child_goes_to_the_living(python):
    """Functions that run first after a fork may free locks that tasklets of gone threads wait
    for."""
    done = run_beside_a_waiter(
        python,
        """
        def main():
            thread = hold()
            task = loomlet.spawn(work, "mine")
            loomlet.schedule()
            child = os.fork()
            if child == 0:
                task.join()
                os._exit(log == ["mine"])
            lock.release()
            task.join()
            thread.join()
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(log))
        """,
        before_import="lock = threading.Lock()\n"
        "os.register_at_fork(after_in_child=lock._at_fork_reinit)",
    )
    assert (done.stdout, done.stderr) == ("1 2\n", "")
