"""redis-py, unmodified, with a redis server."""

import threading

import pytest
from helpers_many_tasklets import MANY, Gate, crowd
from helpers_simultaneous_waits import all_wait_at_once

import loomlet

redis = pytest.importorskip("redis")


@pytest.fixture
def client(redis_server):
    with redis.Redis(unix_socket_path=redis_server.path, max_connections=2 * MANY) as client:
        client.flushall()
        yield client


def test_commands(client):
    """Each with its own answer, by one pool of connections."""

    def work(number):
        client.set(f"key{number}", number)
        return int(client.get(f"key{number}")) + int(client.incr(f"count{number}"))

    assert crowd(work) == [number + 1 for number in range(MANY)]


def test_all_wait_at_once(redis_server):
    """A thousand blocking commands, which the server counts; then one value for each."""
    all_wait_at_once("redis", redis_server, MANY)


def test_publish_and_subscribe(redis_server):
    """By TCP: subscribers in tasklets, the publisher in an OS thread."""
    client = redis.Redis(port=redis_server.port, max_connections=MANY)
    gate = Gate(100)

    def publish():
        with redis.Redis(port=redis_server.port) as other:
            other.publish("news", "now")

    def work(number):
        with client.pubsub() as subscription:
            subscription.subscribe("news")
            assert subscription.get_message(timeout=60)["type"] == "subscribe"
            gate.meet()
            if number == 0:
                threading.Thread(target=publish).start()
            return subscription.get_message(timeout=60)["data"]

    with client:
        assert crowd(work, 100) == [b"now"] * 100


def test_a_timeout_leaves_it_usable(client):
    """A scope ends a wait inside the library; the next command is answered as usual."""

    def late(number):
        try:
            with loomlet.timeout(0.05):
                client.blpop(["nothing"])
        except TimeoutError:
            return client.echo(str(number))
        return None

    assert crowd(late, 50) == [str(number).encode() for number in range(50)]


def test_a_pipeline_and_a_lock(client):
    """The lock is given to one at a time, by the server; a transaction is one request."""

    def work(number):
        with client.lock("lock", timeout=60, sleep=0.001):
            before = int(client.get("sum") or 0)
            with client.pipeline() as pipeline:
                pipeline.incr("count")
                pipeline.set("sum", before + number)
                return pipeline.execute()[0]

    assert sorted(crowd(work, 30)) == list(range(1, 31))
    assert int(client.get("sum")) == sum(range(30))


def test_a_subscriber_in_a_thread_of_its_own(redis_server, run_program):
    """redis-py starts it, and under `loomlet run` it is a tasklet."""
    done = run_program(
        """
        import sys
        import threading
        import redis

        got, all_came = [], threading.Event()

        def take(message):
            got.append(int(message["data"]))
            if len(got) == 20:
                all_came.set()

        with redis.Redis(port=int(sys.argv[1])) as client:
            subscription = client.pubsub(ignore_subscribe_messages=True)
            subscription.subscribe(**{"a thread": take})
            thread = subscription.run_in_thread(sleep_time=0.01)
            for number in range(20):
                client.publish("a thread", number)
            all_came.wait(60)
            thread.stop()
            thread.join()
            print(got == list(range(20)))
        """,
        str(redis_server.port),
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
