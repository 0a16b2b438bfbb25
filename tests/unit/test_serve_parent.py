"""The parent of `serve`: what it does when something goes wrong just then."""

import errno
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from loomlet.serve.parent import Parent, Worker
from loomlet.serve.settings import Settings
from loomlet.serve.worker import READY


@pytest.fixture
def parent():
    """One with a seat, which is not used as a socket here."""
    made = Parent(Settings("a:b"), [None])
    yield made
    for worker in made.workers.values():
        os.close(worker.pipe)
    made._selector.close()
    made._wakeup.close()
    made._woken.close()


def add_worker(parent, pid, replaces=None):
    """A worker that is none: its pipe, and where it writes."""
    ours, theirs = os.pipe()
    parent.workers[pid] = worker = Worker(pid, 0, ours, replaces)
    return worker, theirs


def open_descriptors():
    return set(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("call", ["fork", "pipe"])
def test_a_worker_that_cannot_be_forked_is_tried_again_later(parent, monkeypatch, caplog, call):
    """The parent and its other workers go on, and nothing is left open."""

    def refuse():
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(os, call, refuse)
    before = open_descriptors()
    parent._fill(0.0)
    assert open_descriptors() == before
    assert "no worker can be started" in caplog.text
    assert not parent.workers
    caplog.clear()
    parent._fill(parent._pause_until - 0.1)
    assert not caplog.text  # it waits
    parent._fill(parent._pause_until)
    assert caplog.text


@pytest.mark.parametrize("begins", [True, False])
def test_a_worker_that_ends_before_its_replacement_serves(parent, monkeypatch, caplog, begins):
    """Its number may be that of another process by then, and it does not go on."""
    told = []
    monkeypatch.setattr(os, "kill", lambda pid, number: told.append(pid))
    old, theirs_of_old = add_worker(parent, 1)
    old.ready = old.replaced = True
    new, theirs = add_worker(parent, 2, replaces=old)
    parent._forget(parent.workers.pop(1), -signal.SIGKILL)
    if begins:
        os.write(theirs, READY)
        parent._listen(new)
    else:
        parent._forget(parent.workers.pop(2), 1)
    os.close(theirs_of_old)
    os.close(theirs)
    assert told == []
    assert "goes on" not in caplog.text


TOLD_TO_END = """
    import os, signal, sys
    from loomlet.serve import parent

    fork = os.fork

    def fork_and_tell():
        pid = fork()
        if pid == 0:
            os.kill(os.getpid(), signal.SIGTERM)
        return pid

    os.fork = fork_and_tell
    parent.work = lambda *_: 5
    made = parent.Parent(parent.Settings("a:b"), [None])
    made._catch_signals()
    made._start(0)
    _, status = os.waitpid(-1, 0)
    print(os.waitstatus_to_exitcode(status), signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""


def test_a_worker_that_is_told_to_end_as_soon_as_it_is_forked():
    """It does not note that as its parent would, and serve on."""
    command = [sys.executable, "-c", textwrap.dedent(TOLD_TO_END)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [str(-signal.SIGTERM), "set()"], done.stderr
