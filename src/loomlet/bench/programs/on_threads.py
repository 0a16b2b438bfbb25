"""OS threads that the interpreter switches between, for the experiments on preemption
and networking.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter_ns

WARM = 200
POOL = 50


def give_up() -> None:
    """Lets another thread run."""
    time.sleep(0)


def run_all(threads: list[threading.Thread]) -> None:
    """To their end."""
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def preempt(slice: float, calls: list[Callable[[], None]], flavour: str) -> list[int]:
    """Run the calls in threads that are switched at that interval; no requests are seen."""
    sys.setswitchinterval(slice)
    threads = [threading.Thread(target=call) for call in calls]
    run_all(threads)
    return []


def echo(stream: socket.socket) -> None:
    """Sends back what comes."""
    with stream:
        while data := stream.recv(65536):
            stream.sendall(data)


def serve_echo(listener: socket.socket, flavour: str) -> None:
    """Answers for ever, a thread for each connection."""
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=echo, args=(stream,), daemon=True).start()


def blocking(count: int, flavour: str) -> float:
    """Nanoseconds per call of a function by a pool of threads, one after the other."""
    with ThreadPoolExecutor() as pool:
        for _ in range(WARM):
            pool.submit(int).result()
        started = perf_counter_ns()
        for _ in range(count):
            pool.submit(int).result()
        return (perf_counter_ns() - started) / count


def look_up(count: int, rounds: int, flavour: str) -> float:
    """Nanoseconds per name of this machine, so many at once, by a pool of threads."""
    took = []
    with ThreadPoolExecutor(POOL) as pool:
        for _ in range(rounds):
            started = perf_counter_ns()
            ports = range(1, count + 1)
            tasks = [pool.submit(socket.getaddrinfo, "localhost", port) for port in ports]
            for task in tasks:
                task.result()
            took.append((perf_counter_ns() - started) / count)
    return sorted(took)[rounds // 2]


def cooperate() -> None:
    """Nothing to patch: threads may block."""


def at_once(calls: list[Callable[[], None]]) -> None:
    """A thread for each."""
    run_all([threading.Thread(target=call) for call in calls])
