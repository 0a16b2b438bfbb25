"""Threads ask a web server by requests, each with a session of its own.

python asking_web.py THREADS COUNT PORT
"""

from __future__ import annotations

import json
import sys
import threading
import time

import requests


def ask(port: int, count: int, right: list[int]) -> None:
    """So many requests on one connection."""
    with requests.Session() as session:
        for _ in range(count):
            right.append(session.get(f"http://localhost:{port}/").text == "ok")


def main(number: int, count: int, port: int) -> None:
    """All of them; prints the seconds, and how many requests were answered."""
    right: list[int] = []
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
    main(*map(int, sys.argv[1:]))
