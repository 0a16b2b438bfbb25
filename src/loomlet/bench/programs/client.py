"""The load client of the experiment on networking where there is no Go: like net.go, but slower.

python -P client.py KIND COUNT SIZE SECONDS PORT
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from typing import Any

PATIENCE = 10.0


def dial(port: int) -> socket.socket:
    """A connection to the server."""
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def ask(sock: socket.socket, message: bytes) -> None:
    """One message there and back."""
    sock.sendall(message)
    back = sock.recv(len(message), socket.MSG_WAITALL)
    if back != message:
        raise SystemExit("the server ended, or did not send back what it got")


class Load:
    """Connections that are busy all the time: each sends, reads as much, and sends again."""

    def __init__(self, count: int, message: bytes, port: int) -> None:
        self.message = message
        self.links = {sock.fileno(): sock for sock in (dial(port) for _ in range(count))}
        self.come = dict.fromkeys(self.links, 0)
        self.answers = 0
        self.silent = set(self.links)
        self.poller = select.epoll()
        for sock in self.links.values():
            ask(sock, message)
        for fd, sock in self.links.items():
            self.poller.register(fd, select.EPOLLIN)
            sock.sendall(message)

    def run(self, seconds: float) -> float:
        """Keeps them busy for that long, and until each has been answered and one was answered
        now, or until the time limit."""
        started = time.perf_counter()
        while (taken := time.perf_counter() - started) < (PATIENCE if self.lacks() else seconds):
            for fd, _ in self.poller.poll(0.1):
                self.turn(fd)
        return taken

    def lacks(self) -> bool:
        """Whether some connection was never answered, or none since the last count."""
        return bool(self.silent) or self.answers == 0

    def turn(self, fd: int) -> None:
        """Reads what has come; once all of it has, the next message goes out."""
        got = self.links[fd].recv(len(self.message) - self.come[fd])
        if not self.message.startswith(got, self.come[fd]) or not got:
            raise SystemExit("the server ended, or did not send back what it got")
        self.come[fd] += len(got)
        if self.come[fd] == len(self.message):
            self.come[fd] = 0
            self.answers += 1
            self.silent.discard(fd)
            self.links[fd].sendall(self.message)


def echo(count: int, message: bytes, seconds: float, port: int) -> dict[str, Any]:
    """Answers count once each connection has had one."""
    load = Load(count, message, port)
    load.run(seconds / 4)
    load.answers = 0
    taken = load.run(seconds)
    return {"seconds": taken, "requests": load.answers, "served": count - len(load.silent)}


def connect(count: int, message: bytes, seconds: float, port: int) -> dict[str, Any]:
    """Connects, asks once and leaves, so many at a time."""
    requests, started = 0, time.perf_counter()
    while (taken := time.perf_counter() - started) < seconds or requests == 0:
        socks = [dial(port) for _ in range(count)]
        for sock in socks:
            with sock:
                ask(sock, message)
        requests += count
    return {"seconds": taken, "requests": requests, "served": count}


def parked(count: int, message: bytes, seconds: float, port: int) -> int:
    """Asks once on each connection and keeps them open till it is killed."""
    held = []
    for _ in range(count):
        held.append(dial(port))
        ask(held[-1], message)
    print(count, flush=True)
    time.sleep(3600)
    return len(held)


def main(arguments: list[str]) -> None:
    """Prints one line of JSON."""
    kind, count, size, seconds, port = arguments
    works: dict[str, Any] = {"echo": echo, "connect": connect, "parked": parked}
    message = b"loomlet " * (int(size) // 8)
    print(json.dumps(works[kind](int(count), message, float(seconds), int(port))))


if __name__ == "__main__":
    main(sys.argv[1:])
