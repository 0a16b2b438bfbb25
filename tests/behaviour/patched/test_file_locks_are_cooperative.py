"""Waiting for a lock of a file lets the other tasklets run, whichever function of fcntl waits."""

import _thread
import errno
import fcntl
import os
import signal
import struct
import subprocess
import sys
import threading

import pytest
from helpers_ending_waits import end_each_way
from helpers_original_errors import errors_of

import loomlet
from loomlet import patch
from loomlet.testing import assert_no_leaks


def set_range(fd, command, kind):
    """fcntl() with a lock of the whole file."""
    return fcntl.fcntl(fd, command, struct.pack("hhqqi4x", kind, 0, 0, 0, 0))


WAITS = {
    "flock": lambda fd: fcntl.flock(fd, fcntl.LOCK_EX),
    "lockf": lambda fd: fcntl.lockf(fd, fcntl.LOCK_EX),
    "lockf of a part": lambda fd: fcntl.lockf(fd, fcntl.LOCK_EX, 10, 5, os.SEEK_SET),
    "fcntl": lambda fd: set_range(fd, fcntl.F_SETLKW, fcntl.F_WRLCK),
}
OTHER = """
import fcntl, sys
with open(sys.argv[2], "r+") as file:
    getattr(fcntl, sys.argv[1])(file, fcntl.LOCK_EX)
    print("locked", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path):
    """Of a file that can be locked."""
    path = tmp_path / "lock"
    path.write_text("text")
    return path


@pytest.fixture
def opened(path):
    """Opens the file once more, for as long as the test runs."""
    fds = []

    def run():
        fds.append(os.open(path, os.O_RDWR))
        return fds[-1]

    def close(fd):
        fds.remove(fd)
        os.close(fd)

    run.close = close
    yield run
    for fd in fds:
        os.close(fd)


@pytest.fixture
def elsewhere(path):
    """Another process takes the lock; what is returned makes it give the lock back."""
    processes = []

    def run(function):
        command = [sys.executable, "-c", OTHER, function, str(path)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        processes.append(process)
        assert process.stdout.readline() == "locked\n"
        return lambda: end(process)

    def end(process):
        process.stdin.close()
        process.stdout.close()
        process.wait()

    yield run
    for process in processes:
        end(process)


@pytest.fixture(params=WAITS)
def kind(request):
    """Each way to wait."""
    return request.param


def holder_of(kind):
    """The function by which another process takes a lock of that kind."""
    return "flock" if kind == "flock" else "lockf"


def waiting(*tasks):
    """They have begun, and wait."""
    loomlet.schedule()
    loomlet.schedule()
    assert [task.state for task in tasks] == ["blocked"] * len(tasks)


def in_a_plain_thread(function, *args):
    """Calls it there; no tasklet runs and no clock moves meanwhile."""
    done = []
    _thread.start_new_thread(lambda: (function(*args), done.append(True)), ())
    while not done:
        os.sched_yield()


def test_two_tasklets_of_one_process(mode, clock, opened):
    """The second one gets the lock when the first gives it back; no pause of theirs has passed."""
    order = []

    def work(name):
        fd = opened()
        fcntl.flock(fd, fcntl.LOCK_EX)
        order.append(name)
        loomlet.schedule()
        loomlet.schedule()
        order.append(name)
        fcntl.flock(fd, fcntl.LOCK_UN)

    tasks = [loomlet.spawn(work, name) for name in "abc"]
    for task in tasks:
        task.result()
    assert order == ["a", "a", "b", "b", "c", "c"]


def test_another_process_has_it(mode, elsewhere, opened, kind):
    """Others run meanwhile, and the lock is taken once it is free."""
    release = elsewhere(holder_of(kind))
    task = loomlet.spawn(WAITS[kind], opened())
    waiting(task)
    assert task.waiting_in == holder_of(kind)
    release()
    assert task.result() is None or kind == "fcntl"


def test_the_answer_of_fcntl(elsewhere, opened):
    """It is the original's: the lock that was asked for."""
    release = elsewhere("lockf")
    asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
    task = loomlet.spawn(fcntl.fcntl, opened(), fcntl.F_SETLKW, asked)
    waiting(task)
    release()
    assert task.result() == asked


@pytest.mark.skipif(not hasattr(fcntl, "F_OFD_SETLKW"), reason="newer than this Python")
def test_ranges_that_belong_to_an_open_file(opened):
    """They exclude tasklets of one process from each other."""
    holder, other = opened(), opened()
    set_range(holder, fcntl.F_OFD_SETLK, fcntl.F_WRLCK)
    task = loomlet.spawn(set_range, other, fcntl.F_OFD_SETLKW, fcntl.F_WRLCK)
    waiting(task)
    set_range(holder, fcntl.F_OFD_SETLK, fcntl.F_UNLCK)
    task.result()


def test_giving_back_wakes_at_once(clock, opened):
    """No pause has to pass: the clock, which stands still, has not moved."""
    holder, other = opened(), opened()
    fcntl.flock(holder, fcntl.LOCK_EX)
    task = loomlet.spawn(fcntl.flock, other, fcntl.LOCK_EX)
    waiting(task)
    fcntl.flock(holder, fcntl.LOCK_UN)
    task.result()
    assert clock() == 0.0


@pytest.mark.parametrize("kind", ["os.close", "file", "thread"])
def test_closing_wakes_at_once(clock, path, opened, kind):
    """The descriptor, a file object, or either in a plain thread."""
    holder = open(path, "r+")
    fcntl.flock(holder, fcntl.LOCK_EX)
    task = loomlet.spawn(fcntl.flock, opened(), fcntl.LOCK_EX)
    waiting(task)
    if kind == "os.close":
        copy = os.dup(holder.fileno())
        holder.close()
        loomlet.schedule()
        assert task.state == "blocked"  # the copy still has the lock
        os.close(copy)
    elif kind == "file":
        holder.close()
    else:
        in_a_plain_thread(holder.close)
    task.result()
    assert clock() == 0.0


def test_all_readers_get_it_together(clock, opened):
    """The first one tells the next."""
    holder = opened()
    fcntl.flock(holder, fcntl.LOCK_EX)
    tasks = [loomlet.spawn(fcntl.flock, opened(), fcntl.LOCK_SH) for _ in range(5)]
    waiting(*tasks)
    fcntl.flock(holder, fcntl.LOCK_SH)
    for task in tasks:
        task.result()
    assert clock() == 0.0


def test_a_waiter_that_is_killed_passes_it_on(clock, opened):
    """It was woken for the lock, and never tried."""
    holder = opened()
    fcntl.flock(holder, fcntl.LOCK_EX)
    first, second = (loomlet.spawn(fcntl.flock, opened(), fcntl.LOCK_EX) for _ in range(2))
    waiting(first, second)
    fcntl.flock(holder, fcntl.LOCK_UN)
    first.kill()
    second.result()
    assert clock() == 0.0


def test_many_waiters(opened):
    """Each gets it once."""
    count = [0]

    def work():
        fd = opened()
        for _ in range(5):
            fcntl.flock(fd, fcntl.LOCK_EX)
            before = count[0]
            loomlet.schedule()
            count[0] = before + 1
            fcntl.flock(fd, fcntl.LOCK_UN)

    for task in [loomlet.spawn(work) for _ in range(50)]:
        task.result()
    assert count == [250]


def test_a_call_that_must_not_wait_does_not(elsewhere, opened):
    """With LOCK_NB, and with F_SETLK."""
    calls = {
        "flock": lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB),
        "lockf": lambda fd: fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB),
        "fcntl": lambda fd: set_range(fd, fcntl.F_SETLK, fcntl.F_WRLCK),
    }
    for holder in ("flock", "lockf"):
        elsewhere(holder)
    for call in calls.values():
        stock, ours = errors_of(call, opened())
        assert isinstance(ours, BlockingIOError)
        assert str(ours) == str(stock)


WRONG = {
    "no file": lambda: fcntl.flock(9999, fcntl.LOCK_EX),
    "no file for lockf": lambda: fcntl.lockf(9999, fcntl.LOCK_EX),
    "no file for fcntl": lambda: set_range(9999, fcntl.F_SETLKW, fcntl.F_WRLCK),
    "nothing to do": lambda: fcntl.flock(0, 0),
    "nothing to do for lockf": lambda: fcntl.lockf(0, 0),
    "no argument": lambda: fcntl.flock(),
    "one argument": lambda: fcntl.lockf(0),
    "too many": lambda: fcntl.lockf(0, fcntl.LOCK_EX, 0, 0, 0, 0),
    "too many for fcntl": lambda: fcntl.fcntl(0, fcntl.F_SETLKW, b"", 0, 0, 0, 0),
    "too large": lambda: fcntl.flock(0, 1 << 70),
    "a text": lambda: fcntl.flock(0, "1"),
    "no descriptor": lambda: fcntl.flock("0", fcntl.LOCK_EX),
    "below 0": lambda: fcntl.lockf(-1, fcntl.LOCK_EX),
    "from where": lambda: fcntl.lockf(0, fcntl.LOCK_EX, 0, 0, 77),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG.keys())
def test_errors_are_those_of_the_original(call):
    """Type, number and text."""
    stock, ours = errors_of(call)
    assert str(ours) == str(stock)


def test_other_commands_are_untouched(opened):
    """fcntl() that locks nothing."""
    fd = opened()
    assert loomlet.spawn(fcntl.fcntl, fd, fcntl.F_GETFD).result() == fcntl.FD_CLOEXEC
    assert loomlet.spawn(fcntl.fcntl, fd, fcntl.F_SETFD, 0).result() == 0
    assert not fcntl.fcntl(fd, fcntl.F_GETFD)


def test_a_descriptor_that_is_closed(clock, opened, caught):
    """The waiter gets EBADF, also when the number is used again at once."""
    holder, other = opened(), opened()
    fcntl.flock(holder, fcntl.LOCK_EX)
    task = caught(fcntl.flock, other, fcntl.LOCK_EX)
    waiting(task)
    opened.close(other)
    assert opened() == other
    error = task.result()
    assert isinstance(error, OSError)
    assert error.errno == errno.EBADF
    assert clock() == 0.0


def test_a_file_object_that_is_closed(clock, path, opened, caught):
    """The waiter gets ValueError."""
    fcntl.flock(opened(), fcntl.LOCK_EX)
    with open(path, "r+") as other:
        task = caught(fcntl.flock, other, fcntl.LOCK_EX)
        waiting(task)
    assert isinstance(task.result(), ValueError)
    assert clock() == 0.0


def test_a_file_object_that_leaves_the_descriptor_open(opened):
    """Its close() ends no wait."""
    holder, other = opened(), opened()
    fcntl.flock(holder, fcntl.LOCK_EX)
    task = loomlet.spawn(fcntl.flock, other, fcntl.LOCK_EX)
    waiting(task)
    open(other, "r+", closefd=False).close()
    waiting(task)
    fcntl.flock(holder, fcntl.LOCK_UN)
    task.result()


def test_a_wait_can_be_ended(mode, elsewhere, opened, kind, caught):
    """By a kill, a throw or a timeout; the next caller gets the lock."""
    release = elsewhere(holder_of(kind))
    end_each_way(caught, WAITS[kind], opened())
    release()
    loomlet.spawn(WAITS[kind], opened()).result()


def test_in_a_cancelled_scope_it_raises_where_it_waits(opened):
    """A lock that is free can be taken, and one that is held given back: a clean-up may do so."""
    held, own, other = opened(), opened(), opened()

    def body():
        with loomlet.CancelScope() as scope:
            scope.cancel()
            fcntl.flock(own, fcntl.LOCK_EX)
            fcntl.flock(own, fcntl.LOCK_UN)
            fcntl.flock(held, fcntl.LOCK_EX)
            try:
                fcntl.flock(other, fcntl.LOCK_EX)
            finally:
                fcntl.flock(held, fcntl.LOCK_UN)
        return scope.cancelled_caught

    assert loomlet.spawn(body).result() is True
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_main_runs_signal_handlers_and_waits_on(elsewhere, opened, busy):
    """As the original does after EINTR."""
    release = elsewhere("flock")
    seen = []

    def handle(number, frame):
        seen.append(number)
        release()

    previous = signal.signal(signal.SIGUSR1, handle)
    try:
        loomlet.spawn(os.kill, os.getpid(), signal.SIGUSR1)
        fcntl.flock(opened(), fcntl.LOCK_EX)
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert seen == [signal.SIGUSR1]


def test_a_plain_thread_gives_it_back(clock, opened):
    """It notifies the tasklets of other threads."""
    holder, other = opened(), opened()
    fcntl.flock(holder, fcntl.LOCK_EX)
    task = loomlet.spawn(fcntl.flock, other, fcntl.LOCK_EX)
    waiting(task)
    in_a_plain_thread(fcntl.flock, holder, fcntl.LOCK_UN)
    task.result()
    assert clock() == 0.0


def test_a_plain_thread_waits_in_the_original(opened):
    """Without tasklets there is nothing to run meanwhile."""
    holder, other = opened(), opened()
    fcntl.flock(holder, fcntl.LOCK_EX)
    thread = threading.Thread(target=fcntl.flock, args=(other, fcntl.LOCK_EX))
    thread.start()
    fcntl.flock(holder, fcntl.LOCK_UN)
    thread.join()


def test_a_wait_outlives_uninstall(opened):
    """It finds the lock free by itself."""
    holder, other = opened(), opened()
    fcntl.flock(holder, fcntl.LOCK_EX)
    task = loomlet.spawn(fcntl.flock, other, fcntl.LOCK_EX)
    waiting(task)
    patch.uninstall()
    fcntl.flock(holder, fcntl.LOCK_UN)
    task.result()


def test_threads_of_a_program_that_knows_nothing(tmp_path):
    """The usual lock file, by two threads that are tasklets."""
    program = tmp_path / "program.py"
    program.write_text(f"""
import fcntl, threading, time
count = 0
def work():
    global count
    with open({str(tmp_path / "lock")!r}, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = count
        time.sleep(0.001)
        count = before + 1
threads = [threading.Thread(target=work) for _ in range(5)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(count)
""")
    command = [sys.executable, "-m", "loomlet", "run", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stderr, done.stdout) == ("", "5\n")


def test_after_fork_the_child_waits_by_itself(python, path):
    """The parent's waiters do not exist there; its own are woken."""
    done = python(
        """
        import fcntl, os, sys
        import loomlet
        from loomlet import patch
        patch.install()
        def main():
            first, second = (os.open(sys.argv[1], os.O_RDWR) for _ in range(2))
            fcntl.flock(first, fcntl.LOCK_EX)
            task = loomlet.spawn(fcntl.flock, second, fcntl.LOCK_EX)
            loomlet.schedule()
            pid = os.fork()
            if pid == 0:
                fcntl.flock(first, fcntl.LOCK_UN)
                task.result()
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
            task.result()  # the two share what they have opened
            print("good")
        loomlet.run(main)
        """,
        str(path),
    )
    assert (done.stderr, done.stdout) == ("", "good\n")


def test_nothing_is_left(opened, caught):
    """Neither objects nor descriptors, however it ends."""
    holder, other, third = opened(), opened(), opened()

    def rounds():
        for _ in range(100):
            fcntl.flock(holder, fcntl.LOCK_EX)
            killed, task = caught(fcntl.flock, other, 2), loomlet.spawn(fcntl.flock, third, 2)
            loomlet.schedule()
            killed.kill()
            fcntl.flock(holder, fcntl.LOCK_UN)
            task.result()
            fcntl.flock(third, fcntl.LOCK_UN)

    rounds()
    with assert_no_leaks():
        rounds()
