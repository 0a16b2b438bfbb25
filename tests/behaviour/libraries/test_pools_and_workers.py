"""Pools of connections, workers of queues, unmodified, in programs that use threads.

Each program runs under `python -m loomlet run`, which makes its threads tasklets.
"""

import contextlib
import subprocess
import sys
import textwrap
import time

import pytest

START_METHODS = ["fork", "spawn", "forkserver"]
POOLS = ["solo", "threads", "prefork"]


def test_psycopg_pool(postgresql_server, run_program):
    """As many threads as connections hold one each at once; then six times as many share them."""
    pytest.importorskip("psycopg_pool")
    pytest.importorskip("psycopg")
    done = run_program(
        """
        import sys
        from concurrent.futures import ThreadPoolExecutor
        from threading import Barrier
        from psycopg_pool import ConnectionPool

        COUNT = 50
        barrier = Barrier(COUNT)

        def hold(number):
            with pool.connection() as connection:
                barrier.wait()
                return connection.execute("SELECT pg_backend_pid()").fetchone()[0]

        def share(number):
            with pool.connection() as connection:
                return connection.execute("SELECT %s + 1, pg_sleep(0.01)", [number]).fetchone()[0]

        where = f"host=127.0.0.1 port={sys.argv[1]} user=postgres dbname=postgres"
        with ConnectionPool(where, min_size=4, max_size=COUNT, timeout=100) as pool:
            with ThreadPoolExecutor(COUNT) as threads:
                print(len(set(threads.map(hold, range(COUNT)))))
            with ThreadPoolExecutor(6 * COUNT) as threads:
                numbers = range(6 * COUNT)
                print(list(threads.map(share, numbers)) == [number + 1 for number in numbers])
        """,
        str(postgresql_server.port),
    )
    assert (done.returncode, done.stdout) == (0, "50\nTrue\n"), done.stderr


TASKS = """
    import sys
    import time
    import celery

    app = celery.Celery("tasks", broker={url!r}, backend={url!r})

    @app.task
    def add(a, b):
        time.sleep(0.01)
        return a + b

    if __name__ == "__main__":
        results = [add.delay(number, 1) for number in range(10)]
        print([result.get(timeout=60) for result in results])
"""


@contextlib.contextmanager
def celery_worker(folder, kind, errors):
    """Inside, a worker of the tasks in a folder runs; its messages go to a file."""
    command = [sys.executable, "-m", "loomlet", "run", "-m", "celery", "-A", "tasks", "worker"]
    command += ["--pool", kind, "--concurrency", "4", "--without-mingle", "--without-gossip"]
    with errors.open("w") as file:
        child = subprocess.Popen(command, cwd=folder, stdout=file, stderr=subprocess.STDOUT)
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(60)
        finally:
            child.kill()
            child.wait()


@pytest.mark.parametrize("kind", POOLS)
def test_celery(kind, redis_server, tmp_path):
    """A worker answers a client, says nothing about stalls while it is idle, and ends."""
    pytest.importorskip("celery")
    pytest.importorskip("redis")
    url = f"redis://127.0.0.1:{redis_server.port}/{POOLS.index(kind)}"
    (tmp_path / "tasks.py").write_text(textwrap.dedent(TASKS.format(url=url)))
    errors = tmp_path / "errors"
    with celery_worker(tmp_path, kind, errors) as worker:
        done = subprocess.run(
            [sys.executable, "-m", "loomlet", "run", "tasks.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        printed = f"{done.stderr}{errors.read_text()}"
        assert done.stdout == f"{list(range(1, 11))}\n", printed
        if kind != "prefork":
            before = errors.read_text().count("StallWarning")  # imports may be long
            time.sleep(2.5)  # it polls its broker every second
            assert errors.read_text().count("StallWarning") == before, errors.read_text()
    assert worker.returncode == 0, errors.read_text()


@pytest.mark.parametrize("method", START_METHODS)
def test_process_pool_executor(method, run_program):
    """Threads share it; the results come in order, and it ends."""
    done = run_program(
        """
        import multiprocessing
        import sys
        from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

        def use(number):
            return pool.submit(pow, number, 2).result(timeout=60)

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            with ProcessPoolExecutor(2, context) as pool, ThreadPoolExecutor(5) as threads:
                print(*pool.map(abs, range(-4, 0)), *threads.map(use, range(5)))
        """,
        method,
    )
    assert (done.returncode, done.stdout) == (0, "4 3 2 1 0 1 4 9 16\n"), done.stderr
