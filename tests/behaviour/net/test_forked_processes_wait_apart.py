"""fork: parent and child each wait with a poller of their own."""

import errno
import os

import pytest

if not hasattr(os, "fork"):
    pytest.skip("this system has no fork", allow_module_level=True)

PROGRAM = """
import os, sys
import loomlet
from loomlet import net, _core

# One pair for each process.  A process that waits on the other's pair would also take its data,
# so the parent does nothing while the child is at work.
ours, theirs = net.pair(), net.pair()

def wait(stream):
    {wait}

tasks = [loomlet.spawn(wait, pair[0]) for pair in (ours, theirs)]
loomlet.schedule()
child = os.fork()
if child != 0:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
mine = 1 if child == 0 else 0
pair = (ours, theirs)[mine]
pair[1].send_all(b"to child" if child == 0 else b"to parent")
os.write(1, b"%r %s\\n" % (tasks[mine].result(), tasks[1 - mine].state.encode()))
for _ in range(3):
    task = loomlet.spawn(wait, pair[0])
    loomlet.schedule()
    pair[1].send_all(b"again")
    assert task.result() == b"again"
if child == 0:
    os._exit(7)
tasks[1].kill()
for stream in ours + theirs:
    stream.close()
"""


@pytest.mark.parametrize(
    "wait", ["return stream.receive_some()", "return sorted([0], key=f(stream)) and got.pop()"]
)
def test_waiting_tasklets_continue_in_both_processes(python, wait):
    """Tasklets that wait at the fork, soft and hard, wake in the process that gets their data."""
    program = PROGRAM.format(wait=wait)
    program = "got = []\nf = lambda s: lambda n: got.append(s.receive_some()) or n\n" + program
    done = python(program)
    lines = ["b'to child' blocked", "b'to parent' blocked"]
    assert (done.stdout.splitlines(), done.stderr) == (lines, "")


def test_the_child_has_no_descriptor_of_the_parents_poller(python):
    """It has one poller, as before; the parent is not notified of what the child does."""
    done = python(
        """
        import os
        import loomlet
        from loomlet import net

        one, other = net.pair()
        task = loomlet.spawn(one.receive_some)
        loomlet.schedule()
        before = len(os.listdir("/proc/self/fd"))
        child = os.fork()
        if child == 0:
            assert len(os.listdir("/proc/self/fd")) == before
            task.kill()
            one.close(), other.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        other.send_all(b"x")
        assert task.result() == b"x"
        one.close(), other.close()
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_pollers_of_other_threads_are_closed_in_the_child(python):
    """Those threads do not exist there."""
    done = python(
        """
        import os, threading, time, warnings
        import loomlet
        from loomlet import net

        one, other = net.pair()
        thread = threading.Thread(target=one.receive_some)
        thread.start()
        time.sleep(0.1)
        before = len(os.listdir("/proc/self/fd"))
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
        if child == 0:
            assert len(os.listdir("/proc/self/fd")) == before - 2
            third, fourth = net.pair()
            task = loomlet.spawn(third.receive_some)
            loomlet.schedule()
            fourth.send_all(b"x")
            assert task.result() == b"x"
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        other.send_all(b"x")
        thread.join()
        one.close(), other.close()
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_without_a_descriptor_for_a_poller_waiters_get_an_error(python):
    """In a child that may open nothing more."""
    done = python(
        """
        import os, resource
        import loomlet
        from loomlet import net

        one, other = net.pair()
        task = loomlet.spawn(one.receive_some)
        loomlet.schedule()
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 4096))
        child = os.fork()
        if child == 0:
            try:
                task.result()
            except OSError as error:
                os._exit(error.errno)
            os._exit(1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        task.kill()
        one.close(), other.close()
        """
    )
    assert (done.stdout, done.stderr) == (f"{errno.EMFILE}\n", "")
