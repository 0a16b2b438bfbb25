"""Libraries and programs that know nothing of loomlet, with install(sync=True).

What they make while it is installed waits by our locks and queues, in threads of the system, in
tasklets, and in both at once.
"""

import concurrent.futures
import logging
import logging.handlers
import multiprocessing
import multiprocessing.pool
import os
import queue
import random
import sched
import socket
import socketserver
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers_children import works_in_a_child

import loomlet
from loomlet import patch


def square(n):
    return n * n


def fail():
    raise LookupError("as asked")


def test_an_executor():
    with ThreadPoolExecutor(4) as pool:
        assert isinstance(pool._work_queue, queue.SimpleQueue)
        assert list(pool.map(square, range(200))) == [square(n) for n in range(200)]
        failing = pool.submit(fail)
        with pytest.raises(LookupError, match="as asked"):
            failing.result(60)
        some = [pool.submit(square, n) for n in range(20)]
        done = concurrent.futures.as_completed(some, 60)
        assert sorted(each.result() for each in done) == sorted(map(square, range(20)))


def test_tasklets_wait_for_an_executor():
    def work(pool, n):
        return pool.submit(square, n).result()

    with ThreadPoolExecutor(2) as pool:
        tasks = [loomlet.spawn(work, pool, n) for n in range(50)]
        assert [task.result() for task in tasks] == [square(n) for n in range(50)]


def test_an_executor_is_shut_down_while_it_works():
    begun, gate = threading.Event(), threading.Event()
    pool = ThreadPoolExecutor(1)
    first = pool.submit(lambda: (begun.set(), gate.wait())[1])
    begun.wait()
    second = pool.submit(square, 2)
    pool.shutdown(wait=False, cancel_futures=True)
    gate.set()
    assert first.result(60) is True
    assert second.cancelled()


def run_jobs(start, count=300, workers=4, bound=10):
    """A queue of jobs, one of results, task_done() and join()."""
    jobs, results = queue.Queue(bound), queue.Queue()

    def work():
        while (job := jobs.get()) is not None:
            results.put(square(job))
            jobs.task_done()
        jobs.task_done()

    running = [start(work) for _ in range(workers)]
    for job in range(count):
        jobs.put(job)
    for _ in range(workers):
        jobs.put(None)
    jobs.join()
    for each in running:
        each.join()
    return sorted(results.get_nowait() for _ in range(results.qsize()))


def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    return thread


@pytest.mark.parametrize("bound", [0, 1, 10])
@pytest.mark.parametrize("kind", ["threads", "tasklets", "both"])
def test_jobs_in_a_queue(kind, bound):
    numbers = iter(range(100))

    def start(function):
        as_thread = kind == "threads" or (kind == "both" and next(numbers) % 2)
        return in_thread(function) if as_thread else loomlet.spawn(function)

    assert run_jobs(start, bound=bound) == sorted(map(square, range(300)))


def test_jobs_in_threads_that_are_tasklets():
    patch.install(threads=True, sync=True)
    assert loomlet.run(run_jobs, in_thread) == sorted(map(square, range(300)))


def test_no_tasklet_computes_while_the_program_waits():
    """A main tasklet that waits for a thread lets the others run."""
    turns, over = [], queue.Queue()

    def count():
        while over.empty():
            turns.append(1)
            loomlet.schedule()

    task = loomlet.spawn(count)
    gate = threading.Event()
    thread = in_thread(lambda: (gate.wait(), over.put("over")))
    loomlet.schedule()
    gate.set()
    assert over.get() == "over"
    over.put("over")
    task.join()
    thread.join()
    assert turns


def test_log_records_go_through_a_queue():
    lines, records = [], queue.Queue()

    class Lines(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())

    logger = logging.Logger("through a queue")
    logger.addHandler(logging.handlers.QueueHandler(records))
    listener = logging.handlers.QueueListener(records, Lines())
    listener.start()
    threads = [in_thread(lambda n=n: logger.warning("line %d", n)) for n in range(20)]
    for thread in threads:
        thread.join()
    listener.stop()
    assert sorted(lines) == sorted(f"line {n}" for n in range(20))


def test_logging_works_in_the_child_of_a_fork():
    handler = logging.StreamHandler(open(os.devnull, "w"))
    logger = logging.Logger("forked")
    logger.addHandler(handler)

    def work():
        logger.warning("in the child")
        return True

    assert works_in_a_child(work)
    handler.stream.close()
    handler.close()


def test_threads_start_in_the_child_of_a_fork():
    def work():
        thread = in_thread(lambda: None)
        thread.join()
        with ThreadPoolExecutor(1) as another:
            return another.submit(square, 3).result(30) == 9

    with ThreadPoolExecutor(2) as pool:
        pool.submit(square, 1).result()
        assert works_in_a_child(work)


def test_a_queue_of_processes():
    """Its items are sent by a thread, which waits for a condition."""
    items = multiprocessing.get_context("spawn").Queue()
    for n in range(50):
        items.put(n)
    assert [items.get(timeout=60) for _ in range(50)] == list(range(50))
    items.close()
    items.join_thread()


def test_a_pool_of_threads():
    with multiprocessing.pool.ThreadPool(3) as pool:
        assert pool.map(square, range(30)) == list(map(square, range(30)))
        assert pool.apply_async(square, (4,)).get(60) == 16


def test_a_timer_a_local_and_a_scheduler():
    fired = threading.Event()
    timer = threading.Timer(0.001, fired.set)
    timer.start()
    assert fired.wait(60)
    timer.join()
    found = []
    plan = sched.scheduler(time.monotonic, time.sleep)
    plan.enter(0.002, 1, found.append, ("second",))
    plan.enter(0.001, 1, found.append, ("first",))
    plan.run()
    assert found == ["first", "second"]


def test_a_server_with_threads():
    class Echo(socketserver.StreamRequestHandler):
        def handle(self):
            self.wfile.write(self.rfile.readline())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        thread = in_thread(lambda: server.serve_forever(0.01))
        with socket.create_connection(server.server_address, timeout=60) as client:
            client.sendall(b"hello\n")
            assert client.recv(100) == b"hello\n"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("seed", range(3))
def test_locks_keep_others_out(seed):
    """A counter that is read and written in two steps, by threads and tasklets."""
    chance = random.Random(seed)
    counter = {"value": 0}
    kinds = [threading.Lock, threading.RLock, threading.Condition, threading.Semaphore]
    lock = chance.choice(kinds)()

    def add():
        for _ in range(100):
            with lock:
                value = counter["value"]
                if value % 10 == 0:
                    loomlet.schedule()
                counter["value"] = value + 1

    running = [chance.choice([in_thread, loomlet.spawn])(add) for _ in range(6)]
    for each in running:
        each.join()
    assert counter["value"] == 600


def test_a_barrier_of_threads_and_tasklets():
    barrier, passed = threading.Barrier(4), queue.SimpleQueue()

    def meet():
        for turn in range(5):
            barrier.wait()
            passed.put(turn)

    running = [in_thread(meet), in_thread(meet), loomlet.spawn(meet), loomlet.spawn(meet)]
    for each in running:
        each.join()
    assert [passed.get() for _ in range(20)] == [turn for turn in range(5) for _ in range(4)]


def test_a_pool_of_database_connections(tmp_path):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine(
        f"sqlite:///{tmp_path / 'data'}",
        poolclass=sqlalchemy.pool.QueuePool,
        pool_size=2,
        max_overflow=0,
        connect_args={"check_same_thread": False},
    )

    def ask(n):
        with engine.connect() as connection:
            return connection.execute(sqlalchemy.text(f"select {n} * {n}")).scalar()

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(ask, range(60))) == list(map(square, range(60)))
    engine.dispose()


def test_a_pool_of_http_connections():
    urllib3 = pytest.importorskip("urllib3")
    pool = urllib3.HTTPConnectionPool("127.0.0.1", 9, maxsize=3, block=True)
    assert isinstance(pool.pool, queue.LifoQueue)
    mine = pool._get_conn()
    pool._put_conn(mine)
    assert pool._get_conn() is mine
    pool.close()
