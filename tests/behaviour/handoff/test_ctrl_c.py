"""Ctrl-C reaches main while a thread that is a tasklet computes in another thread."""

import subprocess
import sys

import pytest

BEGIN = """
import os, queue, signal, sys, threading, time
sys.settrace(None)
stop = False

def compute():
    os.kill(os.getpid(), signal.SIGINT)
    while not stop:
        pass

def handler(number, frame):
    print(threading.current_thread().name, flush=True)
    os._exit(3)

held, never = threading.Lock(), threading.Event()
held.acquire()
thread = threading.Thread(target=compute)
"""

WAITS = {
    "join": "thread.join()",
    "sleep": "time.sleep(1000)",
    "queue": "queue.Queue().get()",
    "event": "never.wait()",
    "lock": "held.acquire()",
    "computes": "while True: pass",
}


@pytest.fixture
def program(tmp_path):
    """Runs a program that begins with the lines above; returns its status and what it printed."""

    def run_it(text):
        script = tmp_path / "program.py"
        script.write_text(BEGIN + text)
        command = [sys.executable, "-m", "loomlet", "run", "--handoff", str(script)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.stderr == ""
        return done.returncode, done.stdout

    return run_it


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_main_is_interrupted(program, wait):
    """It would wait as long as the thread computes, which is until main has been interrupted."""
    ended = program(f"""
try:
    thread.start()
    {wait}
except KeyboardInterrupt:
    print("interrupted")
stop = True
thread.join()
""")
    assert ended == (0, "interrupted\n")


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_a_handler_runs_as_main(program, wait):
    """Whatever it does: here it ends the program."""
    ended = program(f"""
signal.signal(signal.SIGINT, handler)
thread.start()
{wait}
""")
    assert ended == (3, "MainThread\n")
