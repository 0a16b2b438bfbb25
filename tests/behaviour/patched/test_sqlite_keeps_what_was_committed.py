"""A file of SQLite holds what tasklets have committed that wait for each other, and no more."""

import contextlib
import random

import pytest
from helpers_sqlite import INSERT, Data

import loomlet
from loomlet.testing import explore

sqlite3 = pytest.importorskip("sqlite3", reason="this interpreter has no sqlite3")


@pytest.fixture(params=["delete", "wal"])
def data(request, tmp_path):
    """In each journal mode."""
    made = Data(tmp_path / "data", request.param)
    with made.opened:
        yield made


def random_writes(data, name, committed):
    """Transactions of one tasklet, of random kinds; the rows whose commit has returned."""
    timeout, level = random.choice([0.0, 0.02, 1.0, 30.0]), random.choice([None, "DEFERRED", ""])
    with contextlib.closing(
        sqlite3.connect(data.path, timeout=timeout, isolation_level=level)
    ) as own:
        for n in range(6):
            numbers = [name * 100 + n * 10 + i for i in range(random.randrange(1, 4))]
            with contextlib.suppress(sqlite3.OperationalError):
                write_some(own, numbers)
                committed.extend(numbers)
            with contextlib.suppress(sqlite3.OperationalError):
                own.rollback()
            loomlet.sleep(random.random() / 100)


def write_some(connection, numbers):
    """One transaction, in one of several ways."""
    way = random.choice(["with", "immediate", "begin"])
    many = random.random() < 0.5
    if way != "with":
        connection.execute("begin" if way == "begin" else "begin immediate")
    with connection if way == "with" else contextlib.nullcontext():
        if way == "with" and not connection.isolation_level:
            connection.execute("begin")
        if many:
            connection.executemany(INSERT, ((n,) for n in numbers))
        else:
            for n in numbers:
                connection.execute(INSERT, (n,))
                loomlet.sleep(random.random() / 50)
    connection.commit()


def test_the_file_holds_what_was_committed(data):
    """Exactly the rows whose commit returned, in every order of events."""

    def run():
        random.seed(seeds.pop())
        committed = []
        tasks = [loomlet.spawn(random_writes, data, name, committed) for name in range(1, 7)]
        for task in tasks:
            task.result()
        assert data.rows() == sorted(committed)
        with contextlib.closing(sqlite3.connect(data.path)) as connection, connection:
            connection.execute("delete from t")

    seeds = list(range(10))
    explore(run, range(10))
