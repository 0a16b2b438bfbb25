"""Waiting for a child process lets the other tasklets run, whatever function waits."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator

import pytest
from helpers_ending_waits import end_each_way
from helpers_original_errors import errors_of

import loomlet
from loomlet.testing import assert_no_leaks

Start = Callable[..., int]
STATUS = 3 << 8  # what wait() returns for exit 3

WAITS = {
    "waitpid": lambda pid: os.waitpid(pid, 0)[1],
    "wait4": lambda pid: os.wait4(pid, 0)[1],
    "wait4 by name": lambda pid: os.wait4(pid=pid, options=0)[1],
    "waitid": lambda pid: os.waitid(os.P_PID, pid, os.WEXITED).si_status << 8,
    "of a descriptor": lambda pid: by_descriptor(pid),
    "waitpid of any": lambda pid: os.waitpid(-1, 0)[1],
    "waitpid of the group": lambda pid: os.waitpid(0, 0)[1],
    "waitpid or a stop": lambda pid: os.waitpid(pid, os.WUNTRACED)[1],
    "wait": lambda pid: os.wait()[1],
    "wait3": lambda pid: os.wait3(0)[1],
    "wait3 by name": lambda pid: os.wait3(options=0)[1],
    "waitid of any": lambda pid: os.waitid(os.P_ALL, 0, os.WEXITED).si_status << 8,
}


def by_descriptor(pid):
    """waitid() of a descriptor for the process, which stays open."""
    fd = os.pidfd_open(pid)
    try:
        return os.waitid(os.P_PIDFD, fd, os.WEXITED).si_status << 8
    finally:
        os.close(fd)


@pytest.fixture(params=WAITS)
def wait(request):
    """Each way to wait; gives the status."""
    return WAITS[request.param]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a child that ends with status 3 once it may: the writing end of its input is given."""
    ends: list[int] = []
    pids: list[int] = []

    def run(command: str = "read line; exit 3") -> int:
        theirs, mine = os.pipe()
        ends.append(mine)
        actions = [(os.POSIX_SPAWN_DUP2, theirs, 0)]
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ, file_actions=actions)
        os.close(theirs)
        pids.append(pid)
        return pid

    def go() -> None:
        while ends:
            os.close(ends.pop())

    run.go = go
    yield run
    go()
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def test_others_run_meanwhile(mode, start, wait):
    """Until the child has ended; the status is the original's."""
    task = loomlet.spawn(wait, start())
    for _ in range(3):
        loomlet.schedule()
    assert task.state == "blocked"
    start.go()
    assert task.result() == STATUS


def test_an_ended_child_is_reported_at_once(start, wait):
    """There is nothing to wait for."""
    pid = start()
    start.go()
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    task = loomlet.spawn(wait, pid)
    loomlet.schedule()
    assert task.state == "done"
    assert task.result() == STATUS


def test_a_single_child_needs_no_polling(start, busy):
    """It is waited for like a descriptor."""
    for wait in ("waitpid", "wait4", "waitid", "of a descriptor"):
        task = loomlet.spawn(WAITS[wait], start())
        loomlet.schedule()
        assert task.waiting_in == "read"
        start.go()
        assert task.result() == STATUS


def test_many_children(start):
    """Each tasklet gets its own."""
    tasks = {}
    for number in range(30):
        pid = start(f"read line; exit {number}")
        tasks[pid] = (loomlet.spawn(os.waitpid, pid, 0), number << 8)
    loomlet.schedule()
    start.go()
    for pid, (task, status) in tasks.items():
        assert task.result() == (pid, status)


def test_two_for_one_child(start, caught):
    """One gets it; the other gets ChildProcessError, as threads do."""
    pid = start()
    tasks = [caught(os.waitpid, pid, 0) for _ in range(2)]
    loomlet.schedule()
    start.go()
    results = [task.result() for task in tasks]
    assert sorted(type(result) for result in results if result) == [ChildProcessError]


@pytest.mark.parametrize("pid", [0, -1])
def test_two_for_any_of_two(start, pid):
    """Each gets another one."""
    pids = {start(), start()}
    tasks = [loomlet.spawn(os.waitpid, pid, 0) for _ in range(2)]
    loomlet.schedule()
    start.go()
    assert {task.result()[0] for task in tasks} == pids


def test_a_call_that_must_not_wait_does_not(start):
    """With WNOHANG the call returns at once while the child runs."""
    pid = start()
    calls = [
        (lambda: os.waitpid(pid, os.WNOHANG), (0, 0)),
        (lambda: os.wait3(os.WNOHANG)[:2], (0, 0)),
        (lambda: os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG), None),
    ]
    for call, answer in calls:
        task = loomlet.spawn(call)
        loomlet.schedule()
        assert task.state == "done"
        assert task.result() == answer


def test_a_stop_and_a_continuation_are_reported(start):
    """To callers that ask for them."""
    pid = start("kill -STOP $$; read line; exit 3")
    task = loomlet.spawn(os.waitpid, pid, os.WUNTRACED)
    assert os.WIFSTOPPED(task.result()[1])
    task = loomlet.spawn(os.waitpid, pid, os.WCONTINUED)
    loomlet.schedule()
    os.kill(pid, signal.SIGCONT)
    assert os.WIFCONTINUED(task.result()[1])
    start.go()
    assert loomlet.spawn(os.waitpid, pid, 0).result() == (pid, STATUS)


def test_a_child_that_is_only_peeked_at_stays(start):
    """WNOWAIT returns the status and leaves the child for the next caller."""
    pid = start()
    task = loomlet.spawn(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    loomlet.schedule()
    start.go()
    assert task.result().si_status == 3
    assert loomlet.spawn(os.waitpid, pid, 0).result() == (pid, STATUS)


WRONG = {
    "no child": lambda: os.waitpid(os.getpid(), 0),
    "none by wait4": lambda: os.wait4(1, 0),
    "no descriptor": lambda: os.waitid(os.P_PIDFD, 9999, os.WEXITED),
    "nothing to wait for": lambda: os.waitid(os.P_ALL, 0, 0),
    "no argument": lambda: os.waitpid(),
    "too many": lambda: os.wait(1),
    "too large": lambda: os.waitpid(1 << 70, 0),
    "too large by far": lambda: os.waitpid(1 << 40, 0),
    "a text": lambda: os.waitpid("1", 0),
    "an unknown name": lambda: os.wait4(1, other=0),
    "unknown options": lambda: os.waitpid(-1, 0x4000),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG.keys())
def test_errors_are_those_of_the_original(call):
    """Type, number and text."""
    stock, ours = errors_of(call)
    assert str(ours) == str(stock)


def test_a_process_without_children(python):
    """A wait for any child raises ChildProcessError, as the original does."""
    done = python("""
        import os
        import loomlet
        from loomlet import patch
        def ask():
            for call in (os.wait, lambda: os.wait3(0), lambda: os.waitpid(-1, 0),
                         lambda: os.waitid(os.P_ALL, 0, os.WEXITED)):
                try:
                    call()
                except OSError as error:
                    yield repr(error)
        stock = list(ask())
        patch.install()
        assert loomlet.spawn(list, ask()).result() == stock
        print(len(stock))
    """)
    assert (done.stderr, done.stdout) == ("", "4\n")


def test_a_wait_can_be_ended(mode, start, wait, caught):
    """By a kill, a throw or a timeout; the next caller can still wait for the child."""
    pid = start()
    end_each_way(caught, wait, pid)
    start.go()
    assert loomlet.spawn(wait, pid).result() == STATUS


def test_nothing_is_left(start, wait, caught):
    """Neither objects nor descriptors, however it ends."""

    def rounds():
        for _ in range(20):
            pid = start()
            killed, task = caught(wait, pid), loomlet.spawn(wait, pid)
            loomlet.schedule()
            killed.kill()
            start.go()
            assert task.result() == STATUS

    rounds()
    with assert_no_leaks():
        rounds()


def test_in_a_cancelled_scope_it_raises(start, wait):
    """Like every wait."""
    pid = start()

    def body():
        with loomlet.CancelScope() as scope:
            scope.cancel()
            wait(pid)
        return scope.cancelled_caught

    assert loomlet.spawn(body).result() is True


def test_without_descriptors_it_works_too(python):
    """It polls instead."""
    done = python("""
        import os, resource, time
        import loomlet
        from loomlet import patch
        patch.install()
        theirs, mine = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, theirs, 0)]
        command = ["sh", "-c", "read line; exit 3"]
        pid = os.posix_spawn("/bin/sh", command, os.environ, file_actions=actions)
        os.close(theirs)
        def main():
            spare = os.dup(mine)
            os.close(spare)
            loomlet.spawn(time.sleep, 0).join()
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
            task = loomlet.spawn(os.waitpid, pid, 0)
            loomlet.schedule()
            assert task.waiting_in == "sleep", task.waiting_in
            os.close(mine)
            assert task.result() == (pid, 3 << 8)
        loomlet.run(main)
        print("good")
    """)
    assert (done.stderr, done.stdout) == ("", "good\n")


def test_children_that_are_not_kept(python):
    """With SIGCHLD ignored their end is waited for, and there is no status."""
    done = python("""
        import os, signal
        import loomlet
        from loomlet import patch
        patch.install()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        theirs, mine = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, theirs, 0)]
        pid = os.posix_spawn("/bin/cat", ["cat"], os.environ, file_actions=actions)
        os.close(theirs)
        def wait():
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                print("none")
        def main():
            task = loomlet.spawn(wait)
            loomlet.schedule()
            assert task.state == "blocked"
            os.close(mine)
            task.join()
        loomlet.run(main)
    """)
    assert (done.stderr, done.stdout) == ("", "none\n")
