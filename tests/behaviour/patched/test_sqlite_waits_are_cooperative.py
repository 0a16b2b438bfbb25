"""A SQLite connection that waits for another one lets the other tasklets run."""

import _thread
import contextlib
import os
import subprocess
import sys
import textwrap
import time

import pytest
from helpers_sqlite import INSERT, Data

import loomlet
from loomlet import patch

sqlite3 = pytest.importorskip("sqlite3", reason="this interpreter has no sqlite3")


@pytest.fixture(params=["delete", "wal"])
def data(request, tmp_path):
    """In each journal mode."""
    made = Data(tmp_path / "data", request.param)
    with made.opened:
        yield made


@pytest.fixture
def rollback(tmp_path):
    """With a rollback journal."""
    made = Data(tmp_path / "data", "delete")
    with made.opened:
        yield made


@pytest.fixture
def wal(tmp_path):
    """With a write-ahead log."""
    made = Data(tmp_path / "data", "wal")
    with made.opened:
        yield made


@pytest.fixture
def held(data):
    """A connection that writes, and has not committed."""
    return begun(data.open())


def begun(connection, number=0):
    """It has a row that is not committed."""
    connection.execute("begin immediate")
    connection.execute(INSERT, (number,))
    return connection


def timeout_of(connection):
    """In milliseconds."""
    return connection.execute("pragma busy_timeout").fetchone()[0]


def waiting(*tasks):
    """They have begun, and wait."""
    loomlet.schedule()
    assert [task.state for task in tasks] == ["blocked"] * len(tasks)


def released(task, held):
    """The result of a task that waits until `held` has committed."""
    waiting(task)
    held.commit()
    return task.result()


def tries_of(connection, word):
    """A list that gets each statement with this word that the connection begins to execute."""
    seen = []
    connection.set_trace_callback(lambda sql: word in sql.lower() and seen.append(sql))
    return seen


WRITES = {
    "a cursor": lambda c: c.cursor().execute(INSERT, (1,)),
    "a connection": lambda c: c.execute(INSERT, (1,)),
    "begin": lambda c: (c.execute("begin immediate"), c.execute(INSERT, (1,))),
    "rows of a cursor": lambda c: c.cursor().executemany(INSERT, [(1,)]),
    "rows of a connection": lambda c: c.executemany(INSERT, [(1,)]),
    "returning": lambda c: c.execute(INSERT + " returning n", (1,)).fetchall(),
}


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
@pytest.mark.parametrize("level", [None, "DEFERRED", "IMMEDIATE"])
def test_a_writer_waits_for_another(clock, data, held, level, write):
    """As a tasklet; it goes on once the other has committed."""
    connection = data.open(isolation_level=level)
    task = loomlet.spawn(write, connection)
    waiting(task)
    loomlet.sleep(1)
    assert task.state == "blocked"
    assert timeout_of(connection) == 5000
    held.commit()
    task.result()
    connection.commit()
    assert data.rows() == [0, 1]


def test_main_waits_like_any_other(clock, data, held):
    """A tasklet commits meanwhile."""
    task = loomlet.spawn(lambda: (loomlet.sleep(1), held.commit()))
    with data.open() as connection:
        connection.execute(INSERT, (1,))
    task.result()
    assert data.rows() == [0, 1]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
@pytest.mark.parametrize("timeout", [0.001, 0.002, 0.034, 0.2, 5.0, 60.0])
@pytest.mark.usefixtures("held")
def test_the_timeout_is_the_connections(clock, data, caught, timeout, write):
    """To the millisecond, with the original's error; it is the connection's afterwards too."""
    connection = data.open(timeout=timeout)
    error = caught(write, connection).result()
    assert isinstance(error, sqlite3.OperationalError)
    assert str(error) == "database is locked"
    assert error.sqlite_errorcode == sqlite3.SQLITE_BUSY
    assert clock() == pytest.approx(timeout)
    assert timeout_of(connection) == round(timeout * 1000)
    assert data.rows() == []


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("own", [0.001, 60.0])
@pytest.mark.parametrize("timeout", [777, 33333])
def test_a_timeout_that_a_pragma_has_set(clock, data, caught, own, timeout):
    """Counts."""
    connection = data.open(timeout=own)
    connection.execute(f"pragma busy_timeout={timeout}")
    assert isinstance(caught(WRITES["begin"], connection).result(), sqlite3.OperationalError)
    assert clock() == pytest.approx(timeout / 1000)
    assert timeout_of(connection) == timeout


def test_a_connection_without_a_timeout_does_not_wait(clock, data, held, caught):
    """It is tried once."""
    connection = data.open(timeout=0)
    seen = tries_of(connection, "insert")
    assert isinstance(caught(WRITES["a cursor"], connection).result(), sqlite3.OperationalError)
    assert len(seen) == 1
    assert clock() == 0.0


@pytest.mark.parametrize("begin", ["begin", "an open select"])
def test_what_sqlite_refuses_at_once_fails_at_once(clock, rollback, caught, begin):
    """A reader that begins to write while another one writes could wait for ever."""
    connection, other = rollback.open(isolation_level=None), rollback.open()
    if begin == "begin":
        connection.execute("begin")
    other.executemany(INSERT, [(1,), (2,)])
    other.commit()
    cursor = connection.execute("select n from t")
    cursor.fetchone()
    begun(other)
    seen = tries_of(connection, "insert")
    error = caught(connection.execute, INSERT, (3,)).result()
    assert error.sqlite_errorcode == sqlite3.SQLITE_BUSY
    assert len(seen) == 1
    assert clock() == 0.0


def test_a_stale_snapshot_fails_at_once(clock, wal, caught):
    """Waiting would not make it fresh."""
    one, other = (wal.open(isolation_level=None) for _ in range(2))
    one.execute("begin")
    one.execute("select n from t").fetchall()
    other.execute(INSERT, (1,))
    seen = tries_of(one, "insert")
    error = caught(one.execute, INSERT, (2,)).result()
    assert error.sqlite_errorcode == sqlite3.SQLITE_BUSY_SNAPSHOT
    assert len(seen) == 1
    assert clock() == 0.0


@pytest.mark.parametrize("level", [None, "DEFERRED", "IMMEDIATE"])
def test_rows_from_a_generator(clock, data, held, level):
    """Each is taken once and inserted once, and counted."""
    connection, taken = data.open(isolation_level=level), []

    def numbers():
        for n in range(1, 5):
            taken.append(n)
            yield (n,)

    task = loomlet.spawn(connection.executemany, INSERT, numbers())
    waiting(task)
    loomlet.sleep(1)
    held.commit()
    assert task.result().rowcount == 4
    connection.commit()
    assert taken == [1, 2, 3, 4]
    assert data.rows() == [0, 1, 2, 3, 4]
    assert timeout_of(connection) == 5000


def test_rows_without_any(data):
    """Nothing is inserted."""
    assert loomlet.spawn(data.open().executemany, INSERT, iter(())).result().rowcount == 0


@pytest.mark.parametrize("wrong", [5, None, [5], [(1, 2)]])
def test_rows_that_are_none(data, caught, wrong):
    """The error is the original's."""
    ours = caught(data.open().executemany, INSERT, wrong).result()
    patch.uninstall()
    stock = caught(data.open().executemany, INSERT, wrong).result()
    assert (type(ours), str(ours)) == (type(stock), str(stock))


@pytest.mark.parametrize("timeout", [5, 60])
def test_rows_that_close_the_connection(data, caught, timeout):
    """The error is the original's."""
    connection = data.open(timeout=timeout)

    class Rows:
        def __iter__(self):
            connection.close()
            return iter([(1,)])

    cursor = connection.cursor()
    assert isinstance(caught(cursor.executemany, INSERT, Rows()).result(), sqlite3.ProgrammingError)


def test_an_error_in_the_iterator(clock, data, held, caught):
    """Comes out, and is not taken for a busy connection."""
    connection, error = data.open(), sqlite3.OperationalError("mine")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY

    def numbers():
        raise error
        yield

    assert caught(connection.executemany, INSERT, numbers()).result() is error
    assert clock() == 0.0


def test_with_commits_when_readers_are_done(clock, rollback):
    """And returns what the original does."""
    reader, connection = rollback.open(), rollback.open()
    with reader:
        reader.executemany(INSERT, [(1,), (2,)])
    cursor = reader.execute("select n from t")
    cursor.fetchone()

    def write():
        with connection:
            connection.execute(INSERT, (3,))

    task = loomlet.spawn(write)
    waiting(task)
    assert timeout_of(connection) == 5000
    cursor.fetchall()
    task.result()
    assert not connection.in_transaction
    assert rollback.rows() == [1, 2, 3]
    assert connection.__exit__(None, None, None) is False


def test_with_undoes_what_cannot_be_committed(clock, rollback, caught):
    """When its time is over, when it is killed, and when the block fails."""
    reader, connection = rollback.open(), rollback.open()
    with reader:
        reader.executemany(INSERT, [(1,), (2,)])
    cursor = reader.execute("select n from t")
    cursor.fetchone()

    def write(fail=False):
        with connection:
            connection.execute(INSERT, (3,))
            if fail:
                raise KeyError(3)

    error = caught(write).result()
    assert error.sqlite_errorcode == sqlite3.SQLITE_BUSY
    assert clock() == pytest.approx(5)
    assert not connection.in_transaction
    task = loomlet.spawn(write)
    waiting(task)
    task.kill()
    assert not connection.in_transaction
    assert isinstance(caught(write, True).result(), KeyError)
    cursor.fetchall()
    assert rollback.rows() == [1, 2]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="newer than this Python")
def test_with_a_transaction_that_is_always_open(clock, data, held):
    """autocommit=False: a commit begins the next one."""
    connection = data.open(autocommit=False)

    def write():
        with connection:
            connection.execute(INSERT, (1,))
        return connection.in_transaction

    assert released(loomlet.spawn(write), held) is True
    assert data.rows() == [0, 1]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="newer than this Python")
def test_with_no_transactions(clock, data, held):
    """autocommit=True: `with` does nothing."""
    connection = data.open(autocommit=True)

    def write():
        connection.execute("begin")
        with connection:
            connection.execute(INSERT, (1,))
        return connection.in_transaction

    assert released(loomlet.spawn(write), held) is True
    connection.execute("commit")
    assert data.rows() == [0, 1]


@pytest.mark.usefixtures("mode")
def test_commit_waits_for_readers(clock, rollback, caught):
    """With the connection's timeout; after that it can be tried again."""
    reader, connection = rollback.open(), begun(rollback.open(timeout=2))
    with contextlib.closing(rollback.open().cursor()):
        reader.execute("begin")
        reader.execute("select n from t").fetchall()
    error = caught(connection.commit).result()
    assert error.sqlite_errorcode == sqlite3.SQLITE_BUSY
    assert clock() == pytest.approx(2)
    assert connection.in_transaction
    task = loomlet.spawn(connection.commit)
    waiting(task)
    reader.commit()
    assert task.result() is None
    assert rollback.rows() == [0]


@pytest.mark.usefixtures("mode")
def test_a_waiter_can_be_ended(clock, data, held, caught):
    """By a kill, a throw or a timeout; its connection is usable, and nothing is written."""
    killed, thrown, scoped = (data.open() for _ in range(3))

    def within():
        with loomlet.timeout(1):
            scoped.execute(INSERT, (3,))

    tasks = [caught(c.execute, INSERT, (1,)) for c in (killed, thrown)] + [caught(within)]
    waiting(*tasks)
    tasks[0].kill()
    tasks[1].throw(KeyError("x"))
    assert isinstance(tasks[1].result(), KeyError)
    assert isinstance(tasks[2].result(), TimeoutError)
    assert clock() == 1.0
    assert [timeout_of(c) for c in (killed, thrown, scoped)] == [5000] * 3
    held.commit()
    for connection in (killed, thrown, scoped):
        connection.commit()
    assert data.rows() == [0]


def test_another_tasklet_uses_the_connection_meanwhile(clock, data, held, caught):
    """It reads, and its own writes wait too; all are in the file."""
    connection = data.open(isolation_level=None)
    tasks = [loomlet.spawn(connection.execute, INSERT, (n,)) for n in (1, 2)]
    waiting(*tasks)
    assert connection.execute("select n from t").fetchall() == []
    held.commit()
    for task in tasks:
        task.result()
    assert data.rows() == [0, 1, 2]


def test_another_tasklet_closes_the_connection(clock, data, held, caught):
    """The error is the original's."""
    connection = data.open()
    task = caught(connection.execute, INSERT, (1,))
    waiting(task)
    connection.close()
    error = task.result()
    assert isinstance(error, sqlite3.ProgrammingError)
    assert "closed" in str(error)


def test_python_code_inside_the_call_may_wait(clock, data, held):
    """Rows that another tasklet sends, and functions in SQL that switch."""
    connection, channel = data.open(isolation_level=None), loomlet.Channel()
    connection.create_function("pause", 1, lambda n: (loomlet.sleep(0.1), n)[1])
    task = loomlet.spawn(connection.executemany, "insert into t values (pause(?))", channel)
    loomlet.schedule()
    other = data.open(timeout=0.2)
    with pytest.raises(sqlite3.OperationalError):
        other.execute(INSERT, (9,))
    loomlet.spawn(lambda: (loomlet.sleep(1), held.commit()))
    for n in (1, 2, 3):
        channel.send((n,))
    channel.close()
    assert task.result().rowcount == 3
    assert data.rows() == [0, 1, 2, 3]


def test_a_call_within_a_call(clock, data, held, caught):
    """A function in SQL writes by another connection: only the inner call waits, for its time."""
    outer, inner = data.open(), data.open(timeout=0.3)
    outer.create_function("write", 0, lambda: inner.execute(INSERT, (1,)).rowcount)
    seen = tries_of(outer, "select")
    error = caught(outer.execute, "select write()").result()
    assert isinstance(error, sqlite3.OperationalError)
    assert clock() == pytest.approx(0.3)
    assert len(seen) == 1
    task = loomlet.spawn(lambda: outer.execute("select write()").fetchone())
    assert released(task, held) == (1,)


def test_a_wait_inside_a_call_is_not_the_calls(data):
    """A function in SQL runs a script: SQLite waits for a plain thread, and the script is done."""
    outer, inner = data.open(), data.open(timeout=60)
    held = begun(data.open(check_same_thread=False))
    done = []

    def let_go():
        time.sleep(0.05)
        held.commit()
        done.append(held)

    def script():
        _thread.start_new_thread(let_go, ())
        inner.executescript("insert into t values (1)")
        return 7

    outer.create_function("script", 0, script)
    task = loomlet.spawn(lambda: outer.execute("select script()").fetchone())
    assert task.result() == (7,)
    while not done:
        os.sched_yield()
    assert data.rows() == [0, 1]


@pytest.mark.usefixtures("held")
def test_a_statement_that_contains_pragma_is_tried_once(data, caught):
    """It could be one that must not be tried again."""
    connection = data.open(timeout=0.01)
    seen = tries_of(connection, "insert")
    error = caught(connection.execute, "insert into t values (1) -- Pragma").result()
    assert error.sqlite_errorcode == sqlite3.SQLITE_BUSY
    assert len(seen) == 1


def test_a_pragma_waits_as_sqlite_does(wal):
    """A checkpoint reports that it was busy without an error."""
    writer, reader = (wal.open(isolation_level=None) for _ in range(2))
    connection = wal.open(timeout=0.01)
    reader.execute("begin")
    reader.execute("select n from t").fetchall()
    writer.execute(INSERT, (1,))
    task = loomlet.spawn(lambda: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone())
    assert task.result()[0] == 1


def test_an_autocommit_statement_is_executed_once(rollback, caught):
    """By the time it finds readers it has run, so it waits as SQLite does."""
    reader, calls = rollback.open(), []
    connection = rollback.open(timeout=0.01, isolation_level=None)
    connection.create_function("note", 1, lambda n: calls.append(n) or n)
    reader.execute("begin")
    reader.execute("select n from t").fetchall()
    error = caught(connection.execute, "insert into t values (note(1))").result()
    assert error.sqlite_errorcode == sqlite3.SQLITE_BUSY
    assert calls == [1]


def test_a_plain_thread_waits_in_the_original(data, held):
    """Beside tasklets that wait for the same file."""
    done = []

    def write():
        with contextlib.closing(sqlite3.connect(data.path, isolation_level=None)) as own:
            done.append(own.execute(INSERT, (2,)).rowcount)

    connection = data.open(isolation_level=None)
    task = loomlet.spawn(connection.execute, INSERT, (1,))
    waiting(task)
    thread = loomlet.spawn(loomlet.run_blocking, write)
    loomlet.schedule()
    held.commit()
    task.result()
    thread.result()
    assert done == [1]
    assert data.rows() == [0, 1, 2]


def test_a_wait_outlives_uninstall(clock, data, held):
    """It goes on as a tasklet; what begins afterwards is the original's."""
    connection, other = data.open(), data.open(timeout=0.001)
    task = loomlet.spawn(connection.execute, INSERT, (1,))
    waiting(task)
    patch.uninstall()
    beside = loomlet.spawn(loomlet.schedule)
    with pytest.raises(sqlite3.OperationalError):
        other.execute(INSERT, (2,))
    assert clock() == 0.0
    assert beside.state != "done"
    held.commit()
    task.result()
    assert timeout_of(connection) == 5000


def test_a_module_that_is_imported_later(tmp_path, python):
    """Is patched when it has been loaded."""
    done = python(
        """
        import sys

        import loomlet
        from loomlet import patch

        patch.install()
        assert "_sqlite3" not in sys.modules
        import sqlite3

        def main():
            one, two = (sqlite3.connect(sys.argv[1], isolation_level=None) for _ in range(2))
            one.execute("create table t(n)")
            one.execute("begin immediate")
            task = loomlet.spawn(two.execute, "insert into t values (1)")
            loomlet.schedule()
            print(task.state)
            one.commit()
            print(task.result().rowcount)
            one.close()
            two.close()

        loomlet.run(main)
        """,
        str(tmp_path / "data"),
    )
    assert (done.stdout, done.stderr) == ("blocked\n1\n", "")


def test_another_process_writes(data, python):
    """It is noticed by the next try."""
    program = textwrap.dedent(
        """
        import sqlite3, sys
        connection = sqlite3.connect(sys.argv[1], isolation_level=None)
        connection.execute("begin immediate")
        print("begun", flush=True)
        sys.stdin.readline()
        connection.commit()
        """
    )
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program, os.fspath(data.path)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        connection = data.open(isolation_level=None, timeout=60)
        task = loomlet.spawn(connection.execute, INSERT, (1,))
        waiting(task)
        process.stdin.write("\n")
        process.stdin.close()
        task.result()
    assert data.rows() == [1]
