"""fork, the end of the interpreter, and threads that end, while threads ask for the GIL."""

import os
import sys

import pytest
from helpers_subinterpreters import VISIT, needs_interpreters

PROGRAM = """
import os, socket, sys, threading, time
import loomlet
from loomlet import gil

gil.prioritise_io()
stop, echoes = [], []

def compute():
    n = 0
    while not stop:
        n += 1

def answer(side):
    with side:
        while data := side.recv(10):
            side.sendall(data)

def start_echo():
    ours, theirs = socket.socketpair()
    threading.Thread(target=answer, args=(theirs,), daemon=True).start()
    echoes.append(theirs)
    return ours

def trips(ours, count):
    for _ in range(count):
        ours.sendall(b"x")
        assert ours.recv(10) == b"x"

computing = threading.Thread(target=compute, daemon=True)
computing.start()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_child_of_a_fork_goes_on(python):
    """Its own threads ask as those of the parent do."""
    done = python(
        PROGRAM
        + """
ours = start_echo()
trips(ours, 50)
child = os.fork()
if child == 0:
    threading.Thread(target=compute, daemon=True).start()
    with start_echo() as own:
        trips(own, 50)
    assert loomlet.run_blocking(int) == 0
    os._exit(7)
trips(ours, 50)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
ours.close()
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")


@pytest.mark.parametrize("end", ["", "sys.exit()", "raise SystemExit(0)"])
def test_the_end_of_the_interpreter_waits_for_nobody(python, end):
    """Daemon threads that ask at that moment are not waited for."""
    done = python(
        PROGRAM
        + f"""
def keep_asking(ours):
    trips(ours, 1_000_000)

for _ in range(4):
    threading.Thread(target=keep_asking, args=(start_echo(),), daemon=True).start()
loomlet.sleep(0.01)
{end}
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_threads_that_end_leave_nothing(python):
    """A thread that has asked ends while others ask."""
    done = python(
        PROGRAM
        + """
def few_trips():
    with start_echo() as ours:
        trips(ours, 3)

for _ in range(30):
    some = [threading.Thread(target=few_trips) for _ in range(4)]
    for thread in some:
        thread.start()
    for thread in some:
        thread.join()
stop.append(True)
computing.join()
gil.restore()
print(gil.status().modules)
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", "")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="all interpreters have one GIL")
@needs_interpreters
def test_sockets_of_a_sub_interpreter_work_as_before(python):
    """It has a GIL of its own: its threads do not ask for that of the main one."""
    done = python(
        PROGRAM
        + VISIT
        + '''
visit("""
import socket
ours, theirs = socket.socketpair()
with ours, theirs:
    for _ in range(200):
        ours.sendall(b"x")
        assert theirs.recv(10) == b"x"
""", "isolated")
before = gil.status().asked
with start_echo() as ours:
    for _ in range(40):
        trips(ours, 50)
        if gil.status().asked > before:
            break
    print(gil.status().asked > before, gil.status().has_gil)
stop.append(True)
computing.join()
'''
    )
    assert done.stdout in ("True True\n", "False False\n")
    assert (done.returncode, done.stderr) == (0, "")
