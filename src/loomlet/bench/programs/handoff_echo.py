"""A server that sends back what it gets, while `pbkdf2` runs all the time: here, or elsewhere.

`here`: in a tasklet of the server, by one call after the other. `elsewhere`: by the same calls in
another process, which takes as much of the machine and nothing of the server. Neither the server
nor the client of `net` is bound to a processor.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from typing import Any

import loomlet
from loomlet import net, spawn

SLICE = 0.01
DERIVE = """
import hashlib, os, sys
parent = os.getppid()
while os.getppid() == parent:
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", int(sys.argv[1]))
"""


def derive(rounds: int) -> None:
    """For ever."""
    import hashlib

    while True:
        hashlib.pbkdf2_hmac("sha256", b"password", b"salt", rounds)


def echo(stream: net.Stream) -> None:
    """Sends back what comes."""
    with stream:
        for data in stream:
            stream.send_all(data)


def serve(listener: socket.socket, rounds: int) -> None:
    """A tasklet for each connection, and one for the calls, unless they are of no rounds."""
    if rounds:
        spawn(derive, rounds)
    for stream in net.Listener(listener.detach()):
        spawn(echo, stream)


def measure(
    *, kind: str, count: int, mode: str, seconds: float, rounds: int, client: list[str]
) -> dict[str, Any]:
    """The server runs here; what the client prints ends this process."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # handed down to connections
    words = [*client, "echo", str(count), "64", str(seconds), str(listener.getsockname()[1])]
    asking = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    others = [asking]
    if mode == "process":
        others.append(subprocess.Popen([sys.executable, "-c", DERIVE, str(rounds)], text=True))
        rounds = 0
    threading.Thread(target=finish, args=(asking, others), daemon=True).start()
    loomlet.run(serve, listener, rounds, slice=SLICE, handoff=mode == "on")
    raise SystemExit("the server has ended")


def finish(asking: subprocess.Popen[str], others: list[subprocess.Popen[str]]) -> None:
    """Passes on what the client has printed, and ends all."""
    assert asking.stdout is not None
    line = asking.stdout.readline()
    for other in others:
        other.kill()
        other.wait()
    print(line, flush=True)
    os._exit(0 if line else 1)
