"""Threads with tasklets: one pool serves all, and a thread may end before its functions."""

import threading

import pytest

import loomlet
from loomlet import blocking, run_blocking


def test_tasklets_of_several_threads(mode):
    """Each gets its own results."""
    outcomes = {}

    def body(n):
        return [run_blocking(int, n * 1000 + i) for i in range(50)]

    def main(n):
        tasks = [loomlet.spawn(body, n * 10 + k) for k in range(10)]
        outcomes[n] = [task.result() for task in tasks]

    threads = [threading.Thread(target=loomlet.run, args=(main, n)) for n in range(6)]
    for thread in threads:
        thread.start()
    main(6)
    for thread in threads:
        thread.join()
    for n in range(7):
        firsts = [(n * 10 + k) * 1000 for k in range(10)]
        assert outcomes[n] == [[first + i for i in range(50)] for first in firsts]


def test_plain_threads_call_too():
    """Without any tasklet."""
    outcomes = []
    threads = [
        threading.Thread(target=lambda n=n: outcomes.append(run_blocking(abs, -n)))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == list(range(8))


@pytest.mark.filterwarnings("ignore:tasklet .* was collected while blocked:ResourceWarning")
@pytest.mark.parametrize("caught", [False, True])
def test_a_thread_ends_while_its_function_runs(mode, gate, caught, until):
    """Its tasklets are ended; the outcome is dropped."""
    ended = []

    def body():
        while True:
            try:
                return run_blocking(gate.wait)
            except loomlet.TaskletExit:
                ended.append(True)
                if not caught or len(ended) > 20:
                    raise

    def main():
        loomlet.spawn(body)
        loomlet.schedule()
        while not gate.inside:
            loomlet.sleep(0.001)  # for the thread to begin

    thread = threading.Thread(target=main)
    thread.start()
    thread.join()
    assert ended
    gate.open()
    until(lambda: blocking.threads().idle == blocking.threads().all)


def test_a_thread_is_killed_from_another(gate):
    """The wait of a tasklet is ended by a thread that is not its own."""
    started, outcome = threading.Event(), []

    def body():
        try:
            run_blocking(gate.wait)
        except LookupError as error:
            outcome.append(str(error))

    def main():
        tasks.append(loomlet.spawn(body))
        loomlet.schedule()
        started.set()
        tasks[0].join()

    tasks = []
    thread = threading.Thread(target=loomlet.run, args=(main,))
    thread.start()
    started.wait()
    tasks[0].throw(LookupError("from afar"))
    thread.join()
    assert outcome == ["from afar"]
