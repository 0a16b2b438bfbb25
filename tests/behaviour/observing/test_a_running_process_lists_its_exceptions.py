"""python -m loomlet doctor exceptions PID: asked through the debug socket."""

import pytest

PROGRAM = """
import threading
import loomlet

def fail():
    local = bytes(100_000)
    raise ValueError("kept", len(local))

def waits():
    try:
        fail()
    except ValueError:
        loomlet.Channel(name="never").receive()

def main():
    {body}

loomlet.run(main)
"""
IDLE = (
    'loomlet.spawn(waits).name = "waiter"; loomlet.schedule(); print("ready", flush=True); input()'
)
BUSY = """loomlet.spawn(waits).name = "waiter"; loomlet.schedule(); print("ready", flush=True)
    while True:
        pass"""
NONE = 'print("ready", flush=True); input()'


@pytest.mark.parametrize("body", [IDLE, BUSY], ids=["idle", "busy"])
def test_it_is_listed_with_its_path(begin, command, body):
    """While the program waits, and while it computes."""
    process = begin(PROGRAM.format(body=body))
    done = command("doctor", "exceptions", process.pid)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("1 exception with a traceback, which keeps 100 kB\n")
    assert "ValueError: kept, 100000" in done.stdout
    assert "tasklet waiter inside `except`" in done.stdout
    assert "raised in fail (<string>:" in done.stdout
    assert "keeps 100 kB" in done.stdout
    assert process.poll() is None


def test_asked_again_and_again(begin, command):
    """Each question is answered."""
    process = begin(PROGRAM.format(body=IDLE))
    for _ in range(5):
        assert command("doctor", "exceptions", process.pid).returncode == 1
    process.communicate("\n")
    assert process.returncode == 0


def test_there_is_none(begin, command):
    """The exit status tells."""
    process = begin(PROGRAM.format(body=NONE))
    done = command("doctor", "exceptions", process.pid)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "0 exceptions with a traceback\n"


@pytest.mark.parametrize("arguments", [(), ("me",), ("1", "2")])
def test_a_wrong_command_line(command, arguments):
    """It says what it takes."""
    done = command("doctor", "exceptions", *arguments)
    assert done.returncode == 2
    assert "doctor exceptions PID" in done.stderr


def test_a_process_without_a_socket(command):
    """It says why there is no answer."""
    done = command("doctor", "exceptions", 2**22 + 1)
    assert done.returncode == 2
    assert "there is no process" in done.stderr
