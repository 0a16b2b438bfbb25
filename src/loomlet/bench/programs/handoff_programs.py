"""Programs of threads, unmodified: under `python -m loomlet run`, with handoff and without, and
under plain Python.

`writers` and `turns …` are programs that measure themselves (`sqlite_writers.py`,
`queue_turn.py`). For `django …` the site (`django_site.py`) runs under `runserver`, and ten
clients ask it from here. For `requests`, ten threads of `asking_web.py` ask a server that runs
here, and for `requests psycopg` also PostgreSQL, whose address is given.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

PREFIX = {
    "on": ["-m", "loomlet", "run", "--handoff"],
    "off": ["-m", "loomlet", "run", "--no-handoff"],
    "threads": [],
}
CLIENTS = 10
LIMIT = 120
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"


def words(mode: str, script: str, *arguments: object) -> list[str]:
    """The command line of a script beside this file."""
    path = Path(__file__).with_name(script)
    return [sys.executable, "-P", *PREFIX[mode], str(path), *map(str, arguments)]


def result(command: list[str]) -> dict[str, Any]:
    """The JSON object that a program prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[2:])} ended with status {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class Client:
    """Asks for a page so many times, keeps its cookie, and counts the answers that are right."""

    def __init__(self, port: int, page: str, count: int) -> None:
        self.port, self.page, self.count = port, page, count
        self.right = 0
        self.cookie = ""

    def ask(self) -> tuple[int, bytes]:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        try:
            connection.request("GET", f"/{self.page}", headers={"Cookie": self.cookie})
            answer = connection.getresponse()
            self.cookie = (answer.getheader("Set-Cookie") or self.cookie).split(";")[0]
            return answer.status, answer.read()
        finally:
            connection.close()

    def work(self) -> None:
        """The session counts the writes of its client; whatever is read is right."""
        for number in range(1, self.count + 1):
            try:
                status, body = self.ask()
            except OSError:
                continue
            self.right += status == 200 and (self.page == "reads" or body == b"%d" % number)


def at_once(clients: list[Client]) -> float:
    """Seconds until all have asked."""
    threads = [threading.Thread(target=client.work) for client in clients]
    started = perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return perf_counter() - started


def wait_until_up(port: int, server: subprocess.Popen[bytes]) -> None:
    """Until the port takes connections."""
    while server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            sleep(0.05)
    raise SystemExit("the site did not start")


def stop(site: subprocess.Popen[bytes]) -> None:
    """As from the keyboard."""
    site.send_signal(signal.SIGINT)
    try:
        site.wait(30)
    except subprocess.TimeoutExpired:
        site.kill()
        raise SystemExit("the site did not end") from None


def django(page: str, count: int, mode: str) -> dict[str, Any]:
    """Ten clients of the site, each so many requests; a first one has asked before them."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "log", "wb") as log:
        command = words(mode, "django_site.py", folder, port)
        site = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_until_up(port, site)
            at_once([Client(port, page, 2)])
            clients = [Client(port, page, count) for _ in range(CLIENTS)]
            seconds = at_once(clients)
        finally:
            stop(site)
    right = sum(client.right for client in clients)
    return {"seconds": seconds, "asked": CLIENTS * count, "right": right}


class Answer(asyncio.Protocol):
    """Answers each request, which must come in one piece."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A new connection."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """A request."""
        assert isinstance(self.transport, asyncio.Transport)
        self.transport.write(ANSWER * data.count(b"\r\n\r\n"))


async def serve_while(command: list[Any]) -> dict[str, Any]:
    """Serves, and puts the port into the command, while it runs."""
    server = await asyncio.get_running_loop().create_server(Answer, "127.0.0.1", 0)
    port = str(server.sockets[0].getsockname()[1])
    return await asyncio.to_thread(result, [*command, port])


def measure(kind: str, count: int, mode: str, database: str = "") -> dict[str, Any]:
    """Seconds, or ns for each turn; how much was asked for, and how much of it was right."""
    name, _, rest = kind.partition(" ")
    given = [database] if database else []
    if name == "django":
        return django(rest, count, mode)
    if name == "requests":
        return asyncio.run(serve_while(words(mode, "asking_web.py", CLIENTS, count, *given)))
    if name == "writers":
        with tempfile.TemporaryDirectory() as folder:
            return result(words(mode, "sqlite_writers.py", Path(folder) / "data", count))
    return result(words(mode, "queue_turn.py", rest, count))
