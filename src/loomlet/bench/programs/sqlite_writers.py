"""Four threads write to one SQLite file: so many transactions each, with a millisecond inside.

    python sqlite_writers.py PATH COUNT

Each has a connection of its own and waits for the others' locks as SQLite does, up to five seconds.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
import threading
import time

WRITERS = 4
INSIDE = 0.001


def write(path: str, count: int) -> None:
    """One writer."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=5)
    for number in range(count):
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO written VALUES (?)", (number,))
            time.sleep(INSIDE)
            connection.execute("COMMIT")
        except sqlite3.Error:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
    connection.close()


def main(path: str, count: int) -> None:
    """All of them; prints the seconds, and how many transactions were made."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE written (number)")
    threads = [threading.Thread(target=write, args=(path, count)) for _ in range(WRITERS)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - started
    (right,) = connection.execute("SELECT count(*) FROM written").fetchone()
    print(json.dumps({"seconds": seconds, "asked": WRITERS * count, "right": right}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
