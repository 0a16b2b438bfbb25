"""A function on a thread of the pool runs as in a plain thread, and may use loomlet like one."""

import threading

import pytest

import loomlet
from loomlet import Channel, run_blocking


def test_it_talks_over_channels(mode):
    """With the tasklets of the thread that called it, both ways."""
    questions, answers = Channel(), Channel()

    def ask():
        for n in range(100):
            questions.send(n)
            assert answers.receive() == n * n
        questions.close()
        return "asked"

    def answer():
        for n in questions:
            answers.send(n * n)

    task = loomlet.spawn(run_blocking, ask)
    answer()
    assert task.result() == "asked"


def test_it_calls_run_blocking_itself():
    """Another thread runs that."""

    def nested(depth):
        here = threading.get_ident()
        return {here} | (run_blocking(nested, depth - 1) if depth else set())

    assert len(run_blocking(nested, 5)) == 6


def test_it_runs_tasklets_of_its_own():
    """loomlet.run() inside a function."""

    def main():
        tasks = [loomlet.spawn(abs, -n) for n in range(5)]
        return [task.result() for task in tasks]

    assert [run_blocking(loomlet.run, main) for _ in range(3)] == [[0, 1, 2, 3, 4]] * 3


def test_waiting_for_a_function_is_no_deadlock(gate, begun):
    """The function may still wake a tasklet; this thread, and others that wait for it, sleep."""
    channel = Channel()
    task = begun()

    def late():
        gate.wait()
        channel.send("late")

    other = loomlet.spawn(run_blocking, late)
    threading.Timer(0.01, gate.open).start()
    assert channel.receive() == "late"
    other.result()
    task.result()


def test_a_function_that_was_given_up_may_still_wake_a_tasklet(gate):
    """So waiting for it is no deadlock either, though no tasklet waits for the call."""
    channel = Channel()

    def late():
        gate.wait()
        channel.send("late")

    task = loomlet.spawn(run_blocking, late)
    loomlet.schedule()
    while not gate.inside:
        loomlet.sleep(0.001)  # for the thread to begin
    task.kill()
    threading.Timer(0.3, gate.open).start()  # longer than an idle thread sleeps
    assert channel.receive() == "late"


def test_idle_threads_hide_no_deadlock():
    """Idle threads cannot wake a tasklet, so they do not count."""
    run_blocking(abs, -1)
    with pytest.raises(loomlet.Deadlock):
        Channel().receive()


def test_a_deadlock_inside_a_function_is_reported(python):
    """When nothing else is awake either."""
    done = python(
        """
        import loomlet

        def waits():
            try:
                loomlet.Channel().receive()
            except loomlet.Deadlock:
                return "deadlock"

        loomlet.run_blocking(abs, -1)
        print(loomlet.run_blocking(waits))
        """
    )
    assert (done.stdout, done.stderr) == ("deadlock\n", "")
