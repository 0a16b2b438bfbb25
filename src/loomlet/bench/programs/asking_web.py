"""Threads ask a web server by requests, each with a session of its own; and with a URL of
PostgreSQL also the database, by psycopg, on a connection of its own.

python asking_web.py THREADS COUNT [URL] PORT
"""

from __future__ import annotations

import json
import sys
import threading
import time
from functools import partial

import requests


def ask_web(port: int, count: int, right: list[int]) -> None:
    """So many requests on one connection."""
    with requests.Session() as session:
        for _ in range(count):
            right.append(session.get(f"http://localhost:{port}/").text == "ok")


def ask_both(url: str, port: int, count: int, right: list[int]) -> None:
    """So many requests, and a query after each."""
    import psycopg

    with requests.Session() as session, psycopg.connect(url, autocommit=True) as database:
        for n in range(count):
            answered = session.get(f"http://localhost:{port}/").text == "ok"
            row = database.execute("select %s::int + 1", (n,)).fetchone()
            right.append(answered and row == (n + 1,))


def main(number: int, count: int, port: int, url: str = "") -> None:
    """All of them; prints the seconds, and how many requests were answered."""
    right: list[int] = []
    ask = partial(ask_both, url) if url else ask_web
    ask(port, 2, [])
    threads = [threading.Thread(target=ask, args=(port, count, right)) for _ in range(number)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "asked": number * count, "right": sum(right)}))


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]), int(given[1]), int(given[-1]), *given[2:-1])
