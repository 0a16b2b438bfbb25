"""A web server of threads: one accepts, ten answer, and a queue lies between them.

The server is that of `http.server`; a connection has one request. Each request counts under a lock.
The queue and the lock are the standard library's or ours.

The client is this file in a process of its own: `python -P pool_server.py PORT PARALLEL SECONDS`
has so many threads, each of which asks, waits for the whole answer, and asks again. It prints one
line of JSON.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

THREADS = 10
REQUEST = b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"
LINES = 20


class Server(HTTPServer):
    """Answers in threads that live as long as the process."""

    request_queue_size = 128

    def __init__(self, names: Any) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.connections, self.counting = names.Queue(), names.Lock()
        self.count = 0
        for call in (self.serve_forever, *(self.answer_all for _ in range(THREADS))):
            threading.Thread(target=call, daemon=True).start()

    def process_request(self, request: Any, client_address: Any) -> None:
        """The thread that accepts passes it on."""
        self.connections.put((request, client_address))

    def answer_all(self) -> None:
        """Each of the others takes one after the other."""
        while True:
            request, address = self.connections.get()
            try:
                self.finish_request(request, address)
            except OSError:
                self.handle_error(request, address)
            finally:
                self.shutdown_request(request)


class Answer(BaseHTTPRequestHandler):
    """A small page that says which request this was."""

    server: Server

    def do_GET(self) -> None:
        """The page."""
        with self.server.counting:
            self.server.count += 1
            count = self.server.count
        body = "".join(f"<p>{line}: request {count}</p>\n" for line in range(LINES)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""


def ask_once(port: int) -> None:
    """One connection, one request, the whole answer."""
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(REQUEST)
        answer = b""
        while data := sock.recv(65536):
            answer += data
    if not answer.startswith(b"HTTP/1.0 200") or answer.count(b"<p>") != LINES:
        raise OSError(f"expected a page of {LINES} lines, got {answer[:80]!r}")


def ask(port: int, end: float, times: list[float], faults: list[str]) -> None:
    """One request after the other."""
    try:
        while (began := time.perf_counter()) < end:
            ask_once(port)
            times.append(time.perf_counter() - began)
    except OSError as error:
        faults.append(str(error))


def ask_all(port: int, parallel: int, seconds: float) -> list[float]:
    """Seconds that each answer took, of so many threads together."""
    times, faults = list[float](), list[str]()
    given = (port, time.perf_counter() + seconds, times, faults)
    threads = [threading.Thread(target=ask, args=given) for _ in range(parallel)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise SystemExit(faults[0])
    return times


def serve(gil: Any, names: Any, parallel: int, seconds: float) -> dict[str, float]:
    """The server in this process, the client in another one."""
    server = Server(names)
    words = [sys.executable, "-P", __file__, *map(str, (server.server_port, parallel, seconds))]
    before = time.process_time()
    times = gil.ask_elsewhere(words)["times"]
    spent = time.process_time() - before
    if len(times) != server.count:
        raise SystemExit(f"expected {server.count} answers, got {len(times)}")
    return {"done": len(times) / seconds, **gil.quantiles(times), "cpu": spent * 1e9 / len(times)}


def measure(
    gil: Any, names: Any, *, mode: str, parallel: int, computing: int, seconds: float
) -> dict[str, float]:
    """One case of one system; `gil` is the program `gil_echo`."""
    gil.set_mode(mode)
    found: dict[str, float]
    found = gil.beside(computing, partial(serve, gil, names, parallel, seconds))
    if computing:
        del found["cpu"]  # is that of the others
    return found


if __name__ == "__main__":
    took = ask_all(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
    print(json.dumps({"times": took}), flush=True)
