"""`python -m loomlet run`: SIGUSR1 prints a dump, if the program does not use the signal."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, os, signal, sys
import loomlet
{before}
print("ready", flush=True)
{then}
"""


@pytest.fixture
def run(script):
    """Starts a program by the command, waits until it is ready, and ends it with the test."""
    started = []

    def start(before="", then="loomlet.sleep(60)"):
        path = script(PROGRAM.format(before=before, then=then))
        line = [sys.executable, "-m", "loomlet", "run", str(path)]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = subprocess.Popen(line, text=True, **pipes)
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("then", ["loomlet.sleep(60)", "ctypes.PyDLL(None).getchar()"])
def test_it_is_printed(run, then):
    """Also while Python is stuck in C; the program continues, and may be asked again."""
    process = run(then=then)
    for _ in range(2):
        process.send_signal(signal.SIGUSR1)
        for wanted in f"process {process.pid}: 1 tasklet in 1 thread;", "script.py:":
            while wanted not in process.stderr.readline():
                assert process.poll() is None
    assert process.poll() is None


def test_the_program_sees_no_child(run):
    """Nothing to wait for, and its system calls continue."""
    then = """
import time
def handler(*args):
    print("SIGCHLD", flush=True)
signal.signal(signal.SIGCHLD, handler)
os.kill(os.getpid(), signal.SIGUSR1)
time.sleep(0.5)  # a signal or a child would come meanwhile
try:
    os.wait()
except ChildProcessError:
    print("no child", flush=True)
"""
    process = run(then=then)
    out, _ = process.communicate(timeout=60)  # it may end before the command has asked
    assert (process.returncode, out) == (0, "no child\n")


def test_a_handler_of_the_program_comes_first(run):
    """Its handler replaces loomlet's."""
    before = "signal.signal(signal.SIGUSR1, lambda *args: (print('mine', flush=True), sys.exit(3)))"
    process = run(before=before)
    process.send_signal(signal.SIGUSR1)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (3, "mine\n", "")


def test_a_signal_that_is_taken_is_left_alone(python):
    """An ignored signal stays ignored."""
    done = python(
        """
        import os, signal
        from loomlet import _core

        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        print(_core._dump_at_signal(("/bin/false",)))
        os.kill(os.getpid(), signal.SIGUSR1)
        print(signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN)
        """
    )
    assert (done.returncode, done.stdout) == (0, "False\nTrue\n")


def test_without_the_command_the_signal_is_left_alone(begin):
    """loomlet.run() by itself takes no signal."""
    process = begin(
        """
        import loomlet

        def main():
            print("ready", flush=True)
            loomlet.sleep(60)

        loomlet.run(main)
        """
    )
    process.send_signal(signal.SIGUSR1)
    process.wait(timeout=60)
    assert process.returncode == -signal.SIGUSR1
