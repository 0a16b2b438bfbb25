"""PyMySQL, unmodified, with a MariaDB server."""

import pytest
from helpers_many_tasklets import MANY, crowd
from helpers_simultaneous_waits import all_wait_at_once

pymysql = pytest.importorskip("pymysql")


@pytest.fixture
def connect(mariadb_server):
    def connect():
        return pymysql.connect(unix_socket=mariadb_server.path, user="root", ssl_disabled=True)

    return connect


def one_value(connection, query, *arguments):
    """The only value of a query's result."""
    with connection.cursor() as cursor:
        cursor.execute(query, arguments)
        return cursor.fetchone()[0]


def test_queries(connect):
    """Each by a connection of its own."""

    def work(number):
        with connect() as connection:
            return one_value(connection, "SELECT %s + 1", number)

    assert crowd(work) == [number + 1 for number in range(MANY)]


def test_all_wait_at_once(mariadb_server):
    """A thousand wait for one lock of the server, which counts them; then each gets it."""
    all_wait_at_once("pymysql", mariadb_server, MANY)


def test_by_tcp(mariadb_server):
    """A password's exchange, a table, a transaction."""

    def work(number):
        with pymysql.connect(
            host="127.0.0.1", port=mariadb_server.port, user="root", ssl_disabled=True
        ) as each:
            one_value(each, "SELECT 1")
            with each.cursor() as cursor:
                cursor.execute("CREATE TEMPORARY TABLE test.t (n INT)")
                cursor.executemany("INSERT INTO test.t VALUES (%s)", [(n,) for n in range(number)])
            each.commit()
            return one_value(each, "SELECT COUNT(*) FROM test.t")

    with pymysql.connect(
        host="127.0.0.1", port=mariadb_server.port, user="root", ssl_disabled=True
    ) as one:
        one.cursor().execute("CREATE DATABASE IF NOT EXISTS test")
    assert crowd(work, 20) == list(range(20))
