"""Threads ask a web server by requests, each with a session of its own; and with a URL of
PostgreSQL also the database, by psycopg, on a connection of its own.

python asking_web.py THREADS COUNT [URL] PORT
"""

from __future__ import annotations

import json
import sys
import threading
import time

import requests


def ask_web(session: requests.Session, port: int) -> bool:
    """Whether the answer is right."""
    answer: str = session.get(f"http://localhost:{port}/").text
    return answer == "ok"


def ask(url: str, port: int, count: int, right: list[bool]) -> None:
    """So many requests on one connection, and a query after each if there is a database."""
    with requests.Session() as session:
        if not url:
            for _ in range(count):
                right.append(ask_web(session, port))
            return
        import psycopg

        with psycopg.connect(url, autocommit=True) as database:
            for n in range(count):
                answered = ask_web(session, port)
                row = database.execute("select %s::int + 1", (n,)).fetchone()
                right.append(answered and row == (n + 1,))


def main(number: int, count: int, port: int, url: str = "") -> None:
    """All of them; prints the seconds, and how many requests were answered."""
    right: list[bool] = []
    ask(url, port, 2, [])
    threads = [threading.Thread(target=ask, args=(url, port, count, right)) for _ in range(number)]
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
