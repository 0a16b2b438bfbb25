"""Threads, schedulers and processes that end, or never begin, while somebody sits in C."""

import os
import textwrap
from pathlib import Path

import pytest

SHARED = f"""
import os, sys, threading, warnings
sys.settrace(None)
sys.path.insert(0, {str(Path(__file__).parent)!r})
warnings.simplefilter("ignore", DeprecationWarning)
import loomlet
from helpers_c_calls import Gate, libc, run, where
from loomlet import spawn
gate = Gate()

def sit_apart(function, *args):
    # What runs `function` is somewhere else from now on.
    first = spawn(function, *args)
    spawn(gate.open)
    first.join()

def fork(wanted):
    gate.wait()
    if wanted:
        process = os.fork()
        if process:
            print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
        else:
            os.write(1, b"child\\n")
"""


@pytest.fixture
def program(python):
    """Runs a program that begins with the names above."""
    return lambda text: python(SHARED + textwrap.dedent(text))


@pytest.mark.parametrize(
    ("end", "status", "shown", "error"),
    [
        ("return print('end')", 0, "end\n", ""),
        ("sys.exit(3)", 3, "", ""),
        ("sys.exit('why')", 1, "", "why\n"),
        ("raise ValueError('no')", 1, "", "ValueError: no\n"),
    ],
)
def test_the_child_of_a_tasklet_elsewhere(program, end, status, shown, error):
    """It has main, but not the thread that has called run(): so it ends with main.

    Locks that are owned work there as before.
    """
    done = program(
        """
        def main():
            with held:
                sit_apart(fork, False)
                sit_apart(fork, True)
            with held, condition:
                condition.wait(0.001)
            if os.getpid() != parent:
                END
            print("main")

        parent, held, condition = os.getpid(), threading.RLock(), threading.Condition()
        run(main)
        """.replace("END", end)
    )
    assert done.stdout == f"child\n{shown}{status}\nmain\n"
    assert done.stderr.endswith(error)


def test_the_child_of_a_tasklet_elsewhere_when_main_keeps_a_stack(program):
    """Main is gone with the thread that keeps it; the child ends with its last tasklet."""
    done = program(
        """
        def main():
            sit_apart(fork, False)
            task = spawn(fork, True)
            spawn(gate.open)
            sorted([task], key=lambda task: task.join() or 0)
            print("main")

        run(main)
        """
    )
    assert done.stdout == "child\n0\nmain\n", done.stderr


def test_a_scheduler_that_does_not_wait_for_it(program):
    """Its thread ends, because main is killed again and again; the tasklet never goes on."""
    done = program(
        """
        mains = []

        def sit():
            gate.wait()
            print("goes on" if mains else "sat")

        def main():
            sit_apart(sit)
            spawn(sit)
            loomlet.schedule()  # it sits now
            mains.append(loomlet.current())

        def thread():
            try:
                run(main)
            except loomlet.TaskletExit:
                print("killed")

        sys.unraisablehook = lambda what: None  # one TaskletExit is raised, the others are told
        runs = threading.Thread(target=thread)
        runs.start()
        while not mains:
            libc.usleep(1000)
        while runs.is_alive():
            mains[0].kill()
            libc.usleep(1000)
        gate.open()
        libc.usleep(100_000)  # the call returns meanwhile: what follows it must not run
        print("over")
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "sat\nkilled\nover\n", "")


@pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="ASan needs all addresses"
)
def test_the_system_gives_no_thread(program):
    """The call is waited for, as without handoff."""
    done = program(
        """
        import resource

        def main():
            sits = spawn(libc.usleep, 50_000)
            other = spawn(where)
            sits.join()
            return other.result() == where()

        threading.stack_size(1 << 34)
        pages = int(open("/proc/self/statm").read().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, [pages * resource.getpagesize() + (1 << 33)] * 2)
        print(run(main))
        """
    )
    assert (done.returncode, done.stdout) == (0, "True\n")


def test_no_more_threads_than_allowed(python):
    """The second call holds its thread; when a slice has ended that is said, once."""
    done = python(
        SHARED
        + textwrap.dedent(
            """
            def nap():
                libc.usleep(30_000)  # 30 slices
                return 1

            def main():
                count = sum(task.result() for task in [spawn(nap) for _ in range(4)])
                end = loomlet.now() + 0.02  # 20 slices
                while loomlet.now() < end:
                    pass
                return count

            print(run(main))
            """
        ),
        LOOMLET_THREADS="1",
    )
    assert (done.returncode, done.stdout) == (0, "4\n")
    assert done.stderr.count("RuntimeWarning: a C call that waits holds its thread") == 1


@pytest.mark.parametrize("value", ["0", "many", "-1", "1.5", ""])
def test_a_limit_that_is_no_number_is_an_error(python, value):
    """At import, with what was found."""
    done = python("import loomlet", LOOMLET_THREADS=value)
    assert done.returncode == 1
    assert f"LOOMLET_THREADS takes a number of threads, at least 1, found {value!r}" in done.stderr
