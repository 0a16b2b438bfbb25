"""ThreadPoolExecutor inside run(): its workers are tasklets, and it behaves as documented."""

import concurrent.futures
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import loomlet
from loomlet import patch


def test_map_keeps_the_order_and_works_side_by_side():
    """Results come in the order of the arguments; so many calls are under way at once."""
    together = threading.Barrier(5)

    def work(n):
        together.wait(60)  # broken unless all five come
        time.sleep(0.001 * (5 - n))  # the last one ends first
        return n * n, loomlet.current().is_main

    def main():
        with ThreadPoolExecutor(5) as pool:
            assert list(pool.map(work, range(5))) == [(n * n, False) for n in range(5)]

    loomlet.run(main)


def test_workers_are_reused_and_named():
    """No more than max_workers threads, with the prefix in their names."""
    names, idents = set(), set()

    def work(_):
        time.sleep(0.0001)  # so that the other workers are needed too
        names.add(threading.current_thread().name)
        idents.add(threading.get_ident())

    def main():
        with ThreadPoolExecutor(3, thread_name_prefix="pool") as pool:
            list(pool.map(work, range(50)))

    loomlet.run(main)
    assert names <= {"pool_0", "pool_1", "pool_2"}
    assert len(idents) == len(names)


def test_futures_have_results_and_exceptions():
    """result(), exception(), callbacks, timeouts and cancel()."""
    called = []

    def main():
        go = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(go.wait)
            fails = pool.submit(int, "x")
            never = pool.submit(called.append, "never")
            fails.add_done_callback(called.append)
            with pytest.raises(concurrent.futures.TimeoutError):
                waits.result(timeout=0.001)
            assert waits.running()
            assert not waits.cancel()
            assert never.cancel()
            go.set()
            assert waits.result() is True
            with pytest.raises(ValueError, match="invalid literal"):
                fails.result()
            assert isinstance(fails.exception(), ValueError)
        assert called == [fails]

    loomlet.run(main)


def test_wait_and_as_completed():
    """Those that are done first come first."""

    def main():
        with ThreadPoolExecutor(3) as pool:
            naps = {pool.submit(time.sleep, n): n for n in (0.03, 0, 0.01)}
            first = concurrent.futures.wait(naps, return_when=concurrent.futures.FIRST_COMPLETED)
            assert first.done
            done = [naps[one] for one in concurrent.futures.as_completed(naps)]
            assert sorted(done) == [0, 0.01, 0.03]

    loomlet.run(main)


def test_shutdown():
    """No more work is taken; accepted work is done, or cancelled on request."""
    done = []

    def main():
        pool = ThreadPoolExecutor(1)
        for n in range(3):
            pool.submit(done.append, n)
        pool.shutdown(wait=True)
        assert done == [0, 1, 2]
        with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
            pool.submit(print)
        go = threading.Event()
        pool = ThreadPoolExecutor(1)
        pool.submit(go.wait)
        late = pool.submit(done.append, "late")
        pool.shutdown(wait=False, cancel_futures=True)
        go.set()
        assert late.cancelled()

    loomlet.run(main)
    assert done == [0, 1, 2]


def test_an_initializer_runs_in_each_worker():
    """With its arguments; values of a local are there for the work."""
    local = threading.local()

    def begin(value):
        local.value = value

    def main():
        with ThreadPoolExecutor(2, initializer=begin, initargs=(7,)) as pool:
            assert list(pool.map(lambda _: local.value, range(4))) == [7] * 4

    loomlet.run(main)


def test_an_executor_that_is_dropped_ends_its_workers():
    """Its threads end although shutdown() is never called."""

    def main():
        before = threading.active_count()
        pool = ThreadPoolExecutor(2)
        pool.submit(print).result()
        del pool
        for thread in threading.enumerate():
            if thread is not threading.main_thread():
                thread.join()
        assert threading.active_count() == before

    loomlet.run(main)


def test_a_thousand_workers():
    """All wait at once, in one thread of the system."""

    def main():
        with ThreadPoolExecutor(1000) as pool:
            barrier = threading.Barrier(1000)
            assert len(list(pool.map(lambda _: barrier.wait(60), range(1000)))) == 1000

    loomlet.run(main)


def test_an_executor_with_threads_of_the_system_serves_tasklets():
    """An executor that was first used outside run() keeps its threads."""
    patch.uninstall()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        patch.install(threads=True)

        def main():
            beside = loomlet.spawn(time.sleep, 0)
            assert pool.submit(lambda: loomlet.current().is_main).result()
            beside.join()

        loomlet.run(main)
