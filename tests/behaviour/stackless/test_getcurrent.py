"""getcurrent, getmain, getruncount, getcurrentid and getthreads identify tasklets and threads."""

import subprocess
import sys
import threading

import loomlet.compat.stackless as stackless


def test_getcurrent(mode):
    """Spec 2, getcurrent: the tasklet that asks."""
    seen = []
    task = stackless.tasklet(lambda: seen.append(stackless.getcurrent()))()
    stackless.run()
    assert seen == [task]


def test_getmain(mode):
    """Spec 2, getmain: the thread's main tasklet, whichever tasklet calls it."""
    main, seen = stackless.getcurrent(), []
    stackless.tasklet(lambda: seen.append(stackless.getmain()))()
    stackless.run()
    assert seen == [main]
    assert stackless.getmain() is main


def test_getruncount(mode):
    """Spec 2, getruncount: the run queue's length, the current tasklet counted."""
    seen = []
    for _ in range(3):
        stackless.tasklet(lambda: seen.append(stackless.getruncount()))()
    assert stackless.getruncount() == 4
    stackless.run()
    assert seen == [3, 2, 1]
    assert stackless.getruncount() == 1


def test_getcurrentid_of_the_main_tasklet(thread):
    """Spec 2, getcurrentid: the thread's ident in a main tasklet."""
    assert stackless.getcurrentid() == threading.get_ident()
    other = thread(stackless.getcurrentid)
    assert other.result() == other.id


def test_getcurrentid_of_tasklets(mode):
    """Spec 2, getcurrentid: another int for each other tasklet, the same each time."""
    seen = []

    def body():
        first = stackless.getcurrentid()
        stackless.schedule()
        seen.append((first, stackless.getcurrentid()))

    for _ in range(3):
        stackless.tasklet(body)()
    stackless.run()
    assert all(isinstance(first, int) and first == second for first, second in seen)
    assert len({first for first, _ in seen} | {threading.get_ident()}) == 4


def test_getcurrentid_before_anything_else():
    """Spec 2, getcurrentid: may be the first thing that a program asks."""
    program = (
        "import threading, loomlet.compat.stackless as s;"
        "print(s.getcurrentid() == threading.get_ident())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "True\n"


def test_getthreads(thread):
    """Spec 2, getthreads: the ids of all threads, the main thread's first."""
    start, end = threading.Event(), threading.Event()

    def body():
        start.set()
        end.wait(60)

    other = thread(body)
    assert start.wait(60)
    found = stackless.getthreads()
    end.set()
    assert isinstance(found, list)
    assert found[0] == threading.main_thread().ident
    assert other.id in found
    assert len(set(found)) == len(found)
