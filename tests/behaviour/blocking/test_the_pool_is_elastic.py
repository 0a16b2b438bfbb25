"""Threads: as many as there are functions, up to a limit; those without work end."""

import threading

import pytest

import loomlet
from loomlet import blocking, run_blocking


def spawn_waits(gate, count):
    """That many tasklets whose functions wait for the gate."""
    tasks = [loomlet.spawn(run_blocking, gate.wait, n) for n in range(count)]
    loomlet.schedule()
    return tasks


def test_500_functions_run_at_once(mode, gate, until):
    """No function waits for the thread of another one."""
    tasks = spawn_waits(gate, 500)
    until(lambda: gate.inside == 500)
    assert blocking.threads().all >= 500
    gate.open()
    assert [task.result() for task in tasks] == list(range(500))


def test_beyond_the_limit_functions_wait_for_their_turn(gate, until):
    """First come, first served; then the same thread continues."""
    order = []
    blocking.configure(max_threads=3)
    tasks = spawn_waits(gate, 3)
    until(lambda: gate.inside == 3)
    tasks += [loomlet.spawn(run_blocking, order.append, n) for n in range(20)]
    loomlet.schedule()
    assert order == []
    gate.open()
    for task in tasks:
        task.result()
    assert sorted(order) == list(range(20))
    assert blocking.threads().all == 3
    blocking.configure(max_threads=1000)


def test_one_thread_keeps_the_order(gate, begun):
    """With a limit of one, functions run in the order of the calls."""
    order = []
    blocking.configure(max_threads=1)
    first = begun()
    tasks = [loomlet.spawn(run_blocking, order.append, n) for n in range(20)]
    loomlet.schedule()
    gate.open()
    for task in (first, *tasks):
        task.result()
    assert order == list(range(20))
    blocking.configure(max_threads=1000)


def test_a_raised_limit_starts_queued_functions(gate, until):
    """They need not wait for the next call."""
    blocking.configure(max_threads=1)
    tasks = spawn_waits(gate, 5)
    until(lambda: gate.inside == 1)
    blocking.configure(max_threads=4)
    until(lambda: gate.inside == 4)
    blocking.configure(max_threads=1000)
    until(lambda: gate.inside == 5)
    gate.open()
    assert [task.result() for task in tasks] == list(range(5))


def test_one_after_another_needs_one_thread():
    """The same thread serves all calls."""
    assert len({run_blocking(threading.get_ident) for _ in range(200)}) <= 2


def test_the_last_to_become_idle_is_taken_first(gate, until):
    """So that the others can end."""
    tasks = spawn_waits(gate, 10)
    until(lambda: gate.inside == 10)
    gate.open()
    for task in tasks:
        task.result()
    until(lambda: blocking.threads().idle == 10)
    assert len({run_blocking(threading.get_ident) for _ in range(200)}) <= 2


def test_threads_without_work_end(gate, until):
    """After the idle time; a thread's own destructors run then."""
    local, ended = threading.local(), []

    class Last:
        def __del__(self):
            ended.append(threading.get_ident())

    def keep():
        local.last = Last()
        return threading.get_ident()

    thread = run_blocking(keep)
    until(lambda: blocking.threads() == (1, 1))
    blocking.configure(idle_seconds=0.001)
    until(lambda: blocking.threads() == (0, 0))
    assert ended == [thread]
    assert run_blocking(int, "5") == 5


def test_calls_race_with_threads_that_end():
    """With an idle time of zero, threads come and go, and no call is lost."""
    blocking.configure(idle_seconds=0)
    for n in range(500):
        assert run_blocking(int, n) == n
    blocking.configure(idle_seconds=0.00002)
    tasks = [loomlet.spawn(lambda n: [run_blocking(int, n) for _ in range(100)], n) for n in (1, 2)]
    assert [sum(task.result()) for task in tasks] == [100, 200]


def test_threads_are_started_while_memory_is_traced(python):
    """tracemalloc wants the GIL for a thread's memory; without one the first stops the world."""
    done = python(
        """
        import tracemalloc
        tracemalloc.start()
        import loomlet
        print(sum(loomlet.spawn(loomlet.run_blocking, abs, -n).result() for n in range(20)))
        """
    )
    assert (done.stdout, done.stderr) == ("190\n", "")


def test_limits_are_returned_and_checked():
    """configure() returns what was set before."""
    before = blocking.configure(max_threads=7, idle_seconds=2, exit_seconds=3)
    assert before == blocking.Limits(1000, 10.0, 300.0)
    assert blocking.configure() == (7, 2.0, 3.0)
    blocking.configure(**before._asdict())
    assert blocking.configure() == before
    with pytest.raises(ValueError, match="expected at least 1 thread, found 0"):
        blocking.configure(max_threads=0)
    with pytest.raises(TypeError):
        blocking.configure(idle_seconds="soon")
    assert blocking.configure() == before
