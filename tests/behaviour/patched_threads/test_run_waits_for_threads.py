"""The end of run(): threads that are not daemons may finish, as at the end of a program."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import loomlet


def test_threads_may_finish():
    """Also those that threads start meanwhile."""
    done = []

    def child():
        time.sleep(0.002)
        done.append("child")

    def body():
        time.sleep(0.002)
        threading.Thread(target=child).start()
        done.append("body")

    loomlet.run(lambda: threading.Thread(target=body).start())
    assert done == ["body", "child"]


def test_daemons_and_tasklets_are_killed():
    """Their `finally` blocks run."""
    ended = []

    def body(name):
        try:
            threading.Event().wait()
        finally:
            ended.append(name)

    def main():
        threading.Thread(target=body, args=("daemon",), daemon=True).start()
        loomlet.spawn(body, "tasklet")
        loomlet.schedule()

    loomlet.run(main)
    assert sorted(ended) == ["daemon", "tasklet"]


def test_an_exception_of_main_waits_for_no_thread(capfd):
    """It is raised at once; the threads are killed in silence."""
    ended = []

    def body():
        try:
            threading.Event().wait()
        finally:
            ended.append(True)

    def main():
        threading.Thread(target=body).start()
        pool = ThreadPoolExecutor(1)
        pool.submit(int).result()
        raise KeyError("main")

    with pytest.raises(KeyError, match="main"):
        loomlet.run(main)
    assert ended == [True]
    assert capfd.readouterr() == ("", "")


def test_an_executor_does_the_work_that_it_has():
    """Then it is shut down, as at the end of a program, so no thread waits for ever."""
    done, pools = [], []

    def work(n):
        time.sleep(0.001)
        done.append(n)

    def main():
        pools.append(ThreadPoolExecutor(2))
        for n in range(5):
            pools[0].submit(work, n)

    loomlet.run(main)
    assert sorted(done) == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
        loomlet.run(pools[0].submit, print)


def test_threads_that_wait_for_each_other_are_a_deadlock():
    """A deadlock is reported where a program with system threads would hang."""

    def body():
        threading.Event().wait()

    with pytest.raises(loomlet.Deadlock):
        loomlet.run(lambda: threading.Thread(target=body).start())
