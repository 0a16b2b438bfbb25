"""redis-py's pools of connections, which wait by locks and queues: with install(sync=True).

In a process of its own, because the library takes the names when it is imported.
"""

import pytest

pytest.importorskip("redis")

BEGIN = """
    from loomlet import patch
    patch.install(sync=True)
    import queue, sys, threading
    import loomlet, redis

    path, port = sys.argv[1], int(sys.argv[2])

    def together(work, tasklets, threads):
        results = queue.Queue()

        def note(number):
            try:
                results.put((number, work(number)))
            except Exception as error:
                results.put((number, type(error).__name__))

        def main():
            with loomlet.TaskGroup() as group:
                for number in range(tasklets):
                    group.spawn(note, number)

        others = [threading.Thread(target=note, args=(tasklets + n,)) for n in range(threads)]
        for thread in others:
            thread.start()
        loomlet.run(main)
        for thread in others:
            thread.join()
        found = sorted(results.get_nowait() for _ in range(results.qsize()))
        return [result for _, result in found]
"""

FEW_FOR_MANY = """
    pool = redis.BlockingConnectionPool(
        max_connections=3, timeout=60, connection_class=redis.UnixDomainSocketConnection, path=path
    )
    assert type(pool.pool) is queue.LifoQueue and type(pool.pool).__module__.startswith("loomlet")
    client = redis.Redis(connection_pool=pool)
    client.delete("sum")

    def work(number):
        for _ in range(5):
            client.incrby("sum", number)
            client.echo(str(number))
        return client.echo(str(number)).decode()

    assert together(work, 40, 6) == [str(n) for n in range(46)]
    assert int(client.get("sum")) == 5 * sum(range(46))
    assert 1 <= len(pool._connections) <= 3
    assert pool.pool.qsize() == 3
    client.close()
    pool.disconnect()
    print("done")
"""

LATE = """
    pool = redis.BlockingConnectionPool(max_connections=2, timeout=0.05, port=port)
    client = redis.Redis(connection_pool=pool)
    client.delete("never")
    held = [pool.get_connection(), pool.get_connection()]
    late = together(lambda number: client.echo("x"), 20, 4)
    assert set(late) == {"ConnectionError"}, late
    for connection in held:
        pool.release(connection)
    assert together(lambda number: client.echo("x"), 2, 0) == [b"x"] * 2
    assert pool.pool.qsize() == 2
    pool.disconnect()
    print("done")
"""

KILLED = """
    pool = redis.BlockingConnectionPool(max_connections=2, timeout=60, port=port)
    client = redis.Redis(connection_pool=pool)
    client.delete("never")

    def main():
        waiting = [loomlet.spawn(client.blpop, "never") for _ in range(2)]
        queued = [loomlet.spawn(client.echo, "x") for _ in range(6)]
        while any(task.waiting_for is None for task in queued):
            loomlet.schedule()
        for task in [*queued[::2], *waiting]:
            task.kill()
        return [task.result() for task in queued[1::2]]

    assert loomlet.run(main) == [b"x"] * 3
    assert pool.pool.qsize() == 2
    pool.disconnect()
    print("done")
"""

PLAIN = """
    pool = redis.ConnectionPool(port=port, max_connections=100)
    client = redis.Redis(connection_pool=pool)
    client.delete("jobs", "answers")

    def work(number):
        if number % 2:
            client.rpush("jobs", number)
            return number
        return int(client.blpop("jobs", timeout=60)[1])

    found = together(work, 60, 10)
    assert sorted(found) == sorted(2 * list(range(1, 70, 2)))
    client.close()
    pool.disconnect()
    print("done")
"""


@pytest.mark.parametrize("program", ["FEW_FOR_MANY", "LATE", "KILLED", "PLAIN"])
def test_a_pool_is_shared_by_tasklets_and_threads(python, redis_server, program):
    done = python(BEGIN + globals()[program], redis_server.path, str(redis_server.port))
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)
