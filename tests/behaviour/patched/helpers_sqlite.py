"""Databases of SQLite in files."""

import contextlib

try:
    import sqlite3
except ImportError:
    sqlite3 = None  # the tests are skipped then

INSERT = "insert into t values (?)"


class Data:
    """A database in a file, with an empty table t(n)."""

    def __init__(self, path, journal):
        self.path = path
        self.opened = contextlib.ExitStack()
        made = self.open(isolation_level=None)
        made.execute(f"pragma journal_mode={journal}")
        made.execute("create table t(n)")

    def open(self, **options):
        """A connection, for as long as the test runs."""
        made = sqlite3.connect(self.path, **options)
        return self.opened.enter_context(contextlib.closing(made))

    def rows(self):
        """What the file holds, for a new connection."""
        with contextlib.closing(sqlite3.connect(self.path)) as reader:
            return [n for (n,) in reader.execute("select n from t order by n")]
