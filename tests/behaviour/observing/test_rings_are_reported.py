"""Tasklets that wait for each other are reported once, while the others run on."""

import threading

import pytest
from helpers_opposite_locks import spawn_in_opposite_order, work

import loomlet
from loomlet import TaskGroup, _core, sleep, spawn

pytestmark = pytest.mark.slow  # a ring is reported after a second, and again would be later

HEAD = "loomlet: {} tasklets wait for each other; only a cancel, a kill or a timeout can end that:"


@pytest.fixture(autouse=True, scope="module")
def _owned():
    _core._patch_builtin_locks()


def heartbeat(seconds):
    """The others run on."""
    end = loomlet.now() + seconds
    while loomlet.now() < end:
        sleep(0.05)


def reported(capsys):
    """All reports of a ring until after the next look, which would show a second one."""
    text, end = "", loomlet.now() + 60
    while not text and loomlet.now() < end:
        sleep(0.05)
        text = capsys.readouterr().err
    heartbeat(1.5)
    return text + capsys.readouterr().err


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock, loomlet.Lock])
def test_a_ring_of_locks(make, mode, capsys):
    """Once, with the line, the lock and the holder of each."""
    tasks = spawn_in_opposite_order(make(), make())
    text = reported(capsys)
    for task in tasks:
        task.kill()
    head, first, second = text.splitlines()
    assert head == HEAD.format(2)
    assert first.startswith("  ann: acquire <")
    assert f" held by bob at {work.__code__.co_filename}:" in first
    assert f" held by ann at {work.__code__.co_filename}:" in second


def test_a_ring_of_joins(mode, capsys):
    """Whatever they wait in: three that join each other."""
    tasks = []
    for n in range(3):
        tasks.append(spawn(lambda n=n: tasks[n - 1].join()))
    text = reported(capsys)
    for task in tasks:
        task.kill()
    assert text.splitlines()[0] == HEAD.format(3)
    assert text.count(": join ") == 3


def test_a_ring_through_groups(mode, capsys):
    """The parents wait for their children, the innermost of which waits for a parent's lock."""
    lock, tasks = loomlet.Lock(), []

    def child():
        with lock:
            pass

    def middle():
        with TaskGroup() as group:
            group.spawn(child).name = "child"

    def outer():
        with lock, TaskGroup() as group:
            group.spawn(middle).name = "middle"

    tasks.append(spawn(outer))
    tasks[0].name = "outer"
    text = reported(capsys)
    tasks[0].kill()
    lines = text.splitlines()
    assert lines[0] == HEAD.format(3)
    assert [line.split(":")[0].strip() for line in lines[1:]] == ["child", "outer", "middle"]


def test_a_wait_that_ends_by_itself_is_no_ring(mode, capsys):
    """Its own timeout, or that of a scope around it, is a way out."""
    tasks = []
    with TaskGroup() as group, loomlet.timeout(100):

        def first():
            tasks[1].join(timeout=100)

        def second():
            with loomlet.timeout(100):
                tasks[0].join()

        tasks += [group.spawn(first), group.spawn(second)]
        heartbeat(2.5)
        for task in tasks:
            task.kill()
    assert capsys.readouterr().err == ""


def test_a_handshake_by_one_lock_is_no_ring(mode, capsys):
    """A plain lock may be taken twice, and released by another tasklet."""
    started = threading.Lock()

    def waits():
        started.acquire()
        started.acquire()

    task = spawn(waits)
    heartbeat(2.5)
    started.release()
    task.join()
    assert capsys.readouterr().err == ""


def test_a_chain_is_no_ring(mode, capsys):
    """Who waits for one that waits for something else is not stuck for ever."""
    ch = loomlet.Channel()
    tasks = [spawn(ch.receive)]
    for _ in range(50):
        tasks.append(spawn(tasks[-1].join))
    heartbeat(2.5)
    ch.send(None)
    tasks[-1].join()
    assert capsys.readouterr().err == ""


def test_beside_a_signal_handler(python):
    """Where a handler keeps the program from a Deadlock, a ring is reported all the same."""
    done = python(
        """
        import signal
        import loomlet
        from loomlet import Lock, schedule, spawn

        def work(first, second):
            with first:
                schedule()
                with second:
                    pass

        def main():
            def stop(number, frame):
                raise KeyError("stopped")
            signal.signal(signal.SIGALRM, stop)
            signal.setitimer(signal.ITIMER_REAL, 3)
            left, right = Lock(), Lock()
            task = spawn(work, left, right)
            spawn(work, right, left)
            try:
                task.join()
            except KeyError as error:
                print(error)

        loomlet.run(main)
        """
    )
    assert done.stdout == "'stopped'\n"
    assert done.stderr.splitlines()[0] == HEAD.format(2)
