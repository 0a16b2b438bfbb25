"""psycopg's waits, which the patch does in its stead: each kind, and who else may use it."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from helpers_many_tasklets import together

import loomlet
from loomlet import aio, patch

psycopg = pytest.importorskip("psycopg")

ROWS = "SELECT repeat('x', 1000) FROM generate_series(1, 20000)"
ORDERS = """
    import os, sys
    {first}
    {second}
    from psycopg import waiting
    chosen = waiting.wait
    patch.uninstall()
    print(chosen.__module__, waiting.wait.__module__, os.environ.get("PSYCOPG_WAIT_FUNC"))
"""
IMPORTS = ("from loomlet import patch; patch.install()", "import psycopg.waiting")


@pytest.fixture
def place(postgresql_server):
    directory = postgresql_server.path.rpartition("/")[0]
    return f"host={directory} port={postgresql_server.port} user=postgres dbname=postgres"


@pytest.fixture
def connect(place):
    return lambda: psycopg.connect(place, autocommit=True)


def run_beside(function, *args):
    """In a tasklet, while another one counts: the result."""

    def main():
        counts = []

        def count():
            while True:
                loomlet.sleep(0.001)
                counts.append(1)

        counting = loomlet.spawn(count)
        try:
            return function(*args)
        finally:
            counting.kill()
            assert counts

    return loomlet.run(main)


def printed_by(program, **env):
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["patch first", "psycopg first"])
def test_it_waits_by_us_until_uninstall(order):
    """Whatever was imported first, and no child process hears of it."""
    first, second = (IMPORTS[number] for number in order)
    lines = ORDERS.format(first=first, second=second).splitlines()
    before, after, variable = printed_by("\n".join(line.strip() for line in lines))
    assert before == "loomlet._psycopg_wait"
    assert after != before
    assert variable == "None"


def test_a_function_that_was_chosen_stays():
    """By its environment variable."""
    first, second = IMPORTS
    lines = ORDERS.format(first=first, second=second).splitlines()
    program = "\n".join(line.strip() for line in lines)
    assert printed_by(program, PSYCOPG_WAIT_FUNC="wait_select")[0] == "psycopg.waiting"


def test_a_plain_thread_waits_as_before(connect):
    """Two at once, where no tasklets are, while the main thread has some."""
    found = []

    def ask():
        with connect() as one:
            found.append(one.execute("SELECT 1 FROM pg_sleep(0.2)").fetchone())

    def main():
        with loomlet.TaskGroup() as group:
            group.spawn(loomlet.sleep, 0.05)
            threads = [threading.Thread(target=ask) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    loomlet.run(main)
    assert found == [(1,), (1,)]


def test_a_query_outlasts_the_interval(connect):
    """In which psycopg looks up from its wait."""

    def ask():
        with connect() as one:
            return one.execute("SELECT 1 FROM pg_sleep(0.35)").fetchone()

    assert run_beside(ask) == (1,)


def test_main_is_left_alone_in_the_middle(connect):
    """From then on its thread waits as it would without tasklets."""

    def main():
        with connect() as one:
            loomlet.spawn(loomlet.sleep, 0.05)
            return one.execute("SELECT 1 FROM pg_sleep(0.35)").fetchone()

    assert loomlet.run(main) == (1,)


def test_a_wrong_query_says_so(connect):
    """And the connection is as good as before."""

    def ask():
        with connect() as one:
            with pytest.raises(psycopg.errors.SyntaxError):
                one.execute("SELECT FROM WHERE")
            with pytest.raises(psycopg.errors.DivisionByZero):
                one.execute("SELECT 1 / 0")
            return one.execute("SELECT 1").fetchone()

    assert run_beside(ask) == (1,)


def test_large_results_and_parameters(connect):
    """They come and go in many pieces."""

    def ask():
        with connect() as one:
            rows = one.execute(ROWS).fetchall()
            text = "y" * 30_000_000
            return len(rows), one.execute("SELECT length(%s::text)", [text]).fetchone()

    assert run_beside(ask) == (20000, (30_000_000,))


def test_pipeline(connect):
    """Queries that are sent before the first answer."""

    def ask():
        with connect() as one, one.pipeline():
            cursors = [one.execute("SELECT %s + 1", [number]) for number in range(300)]
            return [cursor.fetchone()[0] for cursor in cursors]

    assert run_beside(ask) == list(range(1, 301))


def test_copy_both_ways(connect):
    """Rows to the server, and back."""

    def ask():
        with connect() as one:
            one.execute("CREATE TEMPORARY TABLE numbers (number integer, word text)")
            with one.cursor().copy("COPY numbers FROM STDIN") as copy:
                for number in range(20000):
                    copy.write_row((number, "word" * 10))
            with one.cursor().copy("COPY numbers TO STDOUT") as copy:
                return sum(1 for _ in copy.rows())

    assert run_beside(ask) == 20000


def test_many_rows_at_once(connect):
    """executemany(), whose parameters come from other tasklets."""

    def ask():
        channel = loomlet.Channel()

        def produce():
            for number in range(50):
                channel.send((number,))
            channel.close()

        loomlet.spawn(produce)
        with connect() as one, one.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE numbers (number integer)")
            cursor.executemany("INSERT INTO numbers VALUES (%s)", channel)
            return cursor.execute("SELECT sum(number) FROM numbers").fetchone()

    assert run_beside(ask) == (sum(range(50)),)


def test_notifications(connect):
    """They come while another connection sends them, and a limit of time ends the wait."""

    def listen():
        with connect() as one, connect() as other:
            one.execute("LISTEN news")

            def tell():
                for number in range(3):
                    loomlet.sleep(0.01)
                    other.execute(f"NOTIFY news, '{number}'")

            telling = loomlet.spawn(tell)
            heard = [each.payload for each in one.notifies(timeout=30, stop_after=3)]
            telling.join()
            return heard, list(one.notifies(timeout=0.05))

    assert run_beside(listen) == (["0", "1", "2"], [])


def test_another_tasklet_cancels(connect):
    """The query ends with an error, and the connection can be used."""

    def ask():
        with connect() as one:

            def cancel():
                loomlet.sleep(0.1)
                one.cancel_safe()

            cancelling = loomlet.spawn(cancel)
            with pytest.raises(psycopg.errors.QueryCanceled):
                one.execute("SELECT pg_sleep(60)")
            cancelling.join()
            return one.execute("SELECT 1").fetchone()

    assert run_beside(ask) == (1,)


def test_another_tasklet_closes(connect):
    """The wait ends with an error of psycopg."""

    def ask():
        one = connect()

        def close():
            loomlet.sleep(0.1)
            one.close()

        closing = loomlet.spawn(close)
        with pytest.raises(psycopg.OperationalError):
            one.execute("SELECT pg_sleep(5)")
        closing.join()
        return one.closed

    assert run_beside(ask)


def test_the_server_ends_the_connection(connect):
    """The wait ends with an error of psycopg."""

    def ask():
        with connect() as other:
            one = connect()

            def end():
                loomlet.sleep(0.1)
                other.execute("SELECT pg_terminate_backend(%s)", [one.info.backend_pid])

            ending = loomlet.spawn(end)
            with pytest.raises(psycopg.OperationalError):
                one.execute("SELECT pg_sleep(60)")
            ending.join()
            one.close()

    run_beside(ask)


def test_interrupted_by_a_signal(connect):
    """psycopg cancels the query, and the connection can be used."""

    def main():
        one = connect()

        def interrupt():
            with connect() as other:
                query = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sle%'"
                while other.execute(query).fetchone()[0] == 0:
                    time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        loomlet.spawn(loomlet.sleep, 0.01)
        with pytest.raises(KeyboardInterrupt):
            one.execute("SELECT pg_sleep(60)")
        interrupting.join()
        with one:
            return one.execute("SELECT 1").fetchone()

    assert loomlet.run(main) == (1,)


def test_waiting_tasklets_keep_no_stack(connect, switches):
    """Nor does one that looks up after each interval."""

    def main():
        connections = [connect() for _ in range(5)]
        switches.take()
        together(lambda number: connections[number].execute("SELECT pg_sleep(0.35)"), 5)
        _, hard = switches.take()
        for connection in connections:
            connection.close()
        return hard

    assert loomlet.run(main) == 0


def test_async_connections_go_their_own_way(place):
    """They wait in their event loop, and both kinds side by side."""

    async def ask(number):
        async with await psycopg.AsyncConnection.connect(place) as one:
            cursor = await one.execute("SELECT %s + 1 FROM pg_sleep(0.05)", [number])
            return (await cursor.fetchone())[0]

    def plain(number):
        with psycopg.connect(place) as one:
            return one.execute("SELECT %s + 1 FROM pg_sleep(0.05)", [number]).fetchone()[0]

    def work(number):
        return aio.await_(ask(number)) if number % 2 else plain(number)

    assert loomlet.run(together, work, 6) == [1, 2, 3, 4, 5, 6]


def test_a_call_that_waits_survives_uninstall(connect):
    """And the next one is psycopg's own."""

    def main():
        with connect() as one:
            asking = loomlet.spawn(lambda: one.execute("SELECT 1 FROM pg_sleep(0.25)").fetchone())
            loomlet.sleep(0.05)
            patch.uninstall()
            asking.join()
            return asking.result(), one.execute("SELECT 2").fetchone()

    assert loomlet.run(main) == ((1,), (2,))
