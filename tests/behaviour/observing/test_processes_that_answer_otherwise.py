"""The process asked for a dump may not run loomlet, may end meanwhile, or be another user's."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from loomlet import observe
from loomlet._debug import client

REQUEST = b"dump\n"


@pytest.fixture
def impostor():
    """answer(data, read=True): the number of a process whose socket answers that."""
    folder = Path(observe.serve()).parent
    sleeper = subprocess.Popen(["sleep", "600"])
    listener, threads = socket.socket(socket.AF_UNIX), []
    listener.bind(str(folder / str(sleeper.pid)))
    listener.listen()

    def answer(data, *, read=True, wait=None):
        def serve():
            connection, _ = listener.accept()
            with connection:
                if read:
                    assert connection.recv(100) == REQUEST
                connection.sendall(data)
                if wait is not None:
                    wait.wait(60)

        threads.append(threading.Thread(target=serve))
        threads[-1].start()
        return sleeper.pid

    yield answer
    for thread in threads:
        thread.join()
    listener.close()
    (folder / str(sleeper.pid)).unlink()
    sleeper.kill()
    sleeper.wait()
    observe.withdraw()


def test_one_that_ends_before_it_answers(impostor):
    """DumpError says so."""
    pid = impostor(b"")
    with pytest.raises(observe.DumpError, match=f"^process {pid} ended before it answered$"):
        observe.dump(pid)


def test_one_that_is_killed_while_it_is_asked(impostor):
    """Its end of the connection is reset, with the request unread."""
    pid = impostor(b"", read=False)
    with pytest.raises(observe.DumpError, match=rf"process {pid} (ended before|did not answer)"):
        observe.dump(pid)


def test_one_that_speaks_something_else(impostor):
    """DumpError shows what it said."""
    pid = impostor(b"HTTP/1.1 400 Bad Request\n")
    with pytest.raises(observe.DumpError, match=r"expected a dump from .* found 'HTTP/1.1 400"):
        observe.dump(pid)


def test_one_that_does_not_answer(impostor, monkeypatch):
    """DumpError after half a minute; shortened here."""
    monkeypatch.setattr(client, "PATIENCE", 0.05)
    end = threading.Event()
    pid = impostor(b"", wait=end)
    with pytest.raises(observe.DumpError, match=rf"process {pid} did not answer: timed out"):
        observe.dump(pid)
    end.set()


def test_one_that_could_not_be_copied(impostor):
    """DumpError has the system's reason."""
    pid = impostor(b"loomlet-dump\t1\nX\t12\n")
    with pytest.raises(observe.DumpError, match=rf"{pid} could not be copied: Cannot allocate"):
        observe.dump(pid)


def test_one_that_was_changing_tasklets(impostor):
    """What could not be read is counted; a last line without its end does not count."""
    pid = impostor(b"loomlet-dump\t1\nP\t7\t1000\nH\nH\nE\tok\nT\t5")
    found = observe.dump(pid)
    assert (found.pid, found.damaged, found.whole, list(found.tasks())) == (7, 2, True, [])


def test_the_command_says_why_there_is_no_dump(impostor, command):
    """One line on stderr, status 1."""
    done = command("dump", impostor(b"loomlet-dump\t1\nQ\n"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "loomlet dump: expected a line of a dump, found 'Q'\n"


def test_a_reader_that_has_enough(impostor):
    """`python -m loomlet dump PID | head`: no message, status 0."""
    pid = impostor(b"loomlet-dump\t1\nP\t7\t1000\nE\tok\n")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "loomlet", "dump", str(pid)],
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


AS_NOBODY = """
import os, sys
from loomlet import observe
os.setgid(65534), os.setuid(65534)
try:
    observe.dump(int(sys.argv[1]))
except observe.DumpError as error:
    print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_one_of_another_user():
    """DumpError says who may ask."""
    observe.serve()
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(os.getpid())],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    observe.withdraw()
    assert done.stdout == (
        f"process {os.getpid()} belongs to another user; run this as that user or as root\n"
    ), done.stderr
