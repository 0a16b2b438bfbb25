"""Our server as a peer of the others: a handler, fixed answers, and a folder of files.

    python http_loomlet.py KIND PORT FOLDER

KIND is `handler`, where a function answers, `held`, where many of its calls may wait at once, or
`fixed`, where no Python runs for a request. Files are served by the second kind of route in all.
WSGI and ASGI are measured as people run them, by `python -m loomlet serve`.

If LOOMLET_BENCH_CERTIFICATE names a file, the server speaks TLS, with what is in it. No session is
resumed, so that every handshake is a whole one.
"""

from __future__ import annotations

import os
import signal
import ssl
import sys
from pathlib import Path
from typing import Any, NoReturn

import loomlet
from loomlet import http

GREETING = "Hello, World!"
SLICE = 0.005  # as under `python -m loomlet serve`
WORK = 20_000  # rounds of a loop: a millisecond
MANY = 50_000  # requests that may wait at once

held: set[loomlet.Event] = set()


def compute() -> NoReturn:
    """Holds nobody: its time slices end."""
    number = 0
    while True:
        number = (number * 7 + 1) % 1_000_003


def work() -> str:
    """Computes for a millisecond."""
    for _ in range(WORK):
        pass
    return GREETING


def hold() -> None:
    """Waits for ever."""
    event = loomlet.Event()
    held.add(event)
    event.wait()


def send_back(request: http.Request) -> None:
    """What comes by WebSocket, until the client closes."""
    link = request.websocket()
    for message in link:
        link.send(message)


def answer(request: http.Request) -> Any:
    """A dict becomes JSON, text is sent as it is."""
    path = request.path
    if path == "/plain":
        return GREETING
    if path == "/json":
        return {"message": GREETING}
    if path == "/echo":
        return send_back(request)
    if path == "/held":
        return str(len(held))
    return {"/computing": compute, "/working": work, "/holding": hold}[path]()


def context() -> ssl.SSLContext | None:
    """For TLS, if there is a certificate."""
    name = os.environ.get("LOOMLET_BENCH_CERTIFICATE", "")
    if not name or not Path(name).exists():
        return None
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(name)
    made.options |= ssl.OP_NO_TICKET
    made.num_tickets = 0
    return made


def serve(port: int, routes: dict[str, Any], concurrency: int) -> None:
    """Serves until SIGTERM, which ends it when all requests are answered."""
    stop = loomlet.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    limits = http.Limits(concurrency=concurrency)
    routes["/-/status"] = lambda request: server.counts()
    server: http.Server = http.Server(
        answer, port=port, routes=routes, limits=limits, tls=context()
    )
    server.start()
    stop.wait()
    server.stop()


def main(kind: str, port: str, folder: str) -> None:
    """Serves that kind."""
    routes: dict[str, Any] = {"/static/": Path(folder) / "static"}
    if kind == "fixed":
        routes |= {"/plain": GREETING.encode(), "/json": b'{"message": "Hello, World!"}'}
    concurrency = MANY if kind == "held" else http.Limits().concurrency
    loomlet.run(serve, int(port), routes, concurrency, slice=SLICE)


if __name__ == "__main__":
    main(*sys.argv[1:])
