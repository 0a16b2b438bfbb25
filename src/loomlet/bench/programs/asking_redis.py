"""Clients of a redis server by redis-py, which knows nothing of tasklets or greenlets.

The server is started on a core of its own.  All clients share one redis.Redis and its pool.  They
set and get a value in turn; answers are counted after all have had a second to connect.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

CONNECTING = 1.0


class Client:
    """One of them: how often it was answered, and how often between two moments."""

    def __init__(self, redis: Any, name: str, begin: float, end: float) -> None:
        self.redis, self.name, self.begin, self.end = redis, name, begin, end
        self.answered = 0
        self.counted = 0

    def ask(self) -> None:
        """Sets and gets a value till the end."""
        redis, name, value = self.redis, self.name, self.name.encode() * 8
        now = 0.0
        while now < self.end:
            redis.set(name, value)
            if redis.get(name) != value:
                raise SystemExit(f"expected the value of {name}, found another one")
            now = perf_counter()
            self.answered += 2
            self.counted += 2 * (self.begin <= now < self.end)


def free_port() -> int:
    """A port of this machine that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def start(start_elsewhere: Callable[..., Any], server: str, port: int, count: int) -> Any:
    """The process of a server without a file that is ready for so many clients."""
    words = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    words += ["--maxclients", str(count + 100), "--tcp-backlog", str(count + 100)]
    unpacked = [str(each) for each in Path(server).parents[1].glob("lib/*-linux-*")]
    child = start_elsewhere(words, LD_LIBRARY_PATH=":".join(unpacked))
    while "Ready to accept" not in (line := child.stdout.readline()):
        if not line:
            raise SystemExit(f"{server} did not start")
    return child


def measure(
    program: ModuleType, start_elsewhere: Callable[..., Any], count: int, server: str, time: float
) -> dict[str, Any]:
    """Requests of so many clients in so many seconds."""
    port = free_port()
    child = start(start_elsewhere, server, port, count)
    try:
        program.cooperate()
        import redis

        shared = redis.Redis(port=port, max_connections=count)
        begin = perf_counter() + CONNECTING
        clients = [Client(shared, f"key{n:04}", begin, begin + time) for n in range(count)]
        program.at_once([client.ask for client in clients])
    finally:
        child.kill()
    requests = sum(client.counted for client in clients)
    served = sum(client.answered > 0 for client in clients)
    return {"served": served, "requests": requests, "seconds": time}
