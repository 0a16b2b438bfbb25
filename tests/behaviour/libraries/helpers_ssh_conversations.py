"""A program: paramiko's clients and servers in one process, all of them in conversations at once.

Its argument says what they are in: "threads", or "tasklets", where the threads that paramiko
starts by itself remain.  It prints whether each client got its own answer.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

import paramiko

import loomlet
from loomlet import patch

CLIENTS, SIZE = 30, 100_000


def in_thread(work: Callable[..., object], *args: object) -> Any:
    """A thread that runs."""
    thread = threading.Thread(target=work, args=args)
    thread.start()
    return thread


START = {"threads": in_thread, "tasklets": loomlet.spawn}
start = START[sys.argv[1]]
together = threading.Barrier(CLIENTS)
key = paramiko.ECDSAKey.generate()


class Server(paramiko.ServerInterface):
    """Checks a password; answers a command with what it read, and with the command as status."""

    def check_auth_password(self, username: str, password: str) -> int:
        """One password for each user."""
        good = password == f"password of {username}"
        return paramiko.AUTH_SUCCESSFUL if good else paramiko.AUTH_FAILED

    def check_channel_request(self, kind: str, number: int) -> int:
        """A session."""
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        """Called in the transport's own thread, which must not wait."""
        in_thread(answer, channel, command)
        return True


def answer(channel: paramiko.Channel, command: bytes) -> None:
    """Nobody is answered before all have asked."""
    together.wait(60)
    channel.sendall(channel.makefile("rb").read())
    channel.sendall_stderr(command)
    channel.send_exit_status(int(command))
    channel.close()


def serve(listener: socket.socket, transports: list[paramiko.Transport]) -> None:
    """A transport for each client."""
    for _ in range(CLIENTS):
        transport = paramiko.Transport(listener.accept()[0])
        transports.append(transport)
        transport.add_server_key(key)
        transport.start_server(server=Server())


def ask(port: int, number: int, answers: list[tuple[int, int, int]]) -> None:
    """A command with input, output, errors and a status."""
    with paramiko.SSHClient() as client:
        client.get_host_keys().add(f"[127.0.0.1]:{port}", key.get_name(), key)
        client.connect(
            "127.0.0.1",
            port,
            f"user{number}",
            f"password of user{number}",
            allow_agent=False,
            look_for_keys=False,
            banner_timeout=60,
        )
        given, printed, errors = client.exec_command(str(number))
        given.write(b"x" * (SIZE + number))
        given.channel.shutdown_write()
        size = len(printed.read()) - SIZE
        answers.append((size, int(errors.read()), printed.channel.recv_exit_status()))


def main() -> None:
    """All conversations."""
    transports: list[paramiko.Transport] = []
    answers: list[tuple[int, int, int]] = []
    with socket.create_server(("127.0.0.1", 0), backlog=CLIENTS) as listener:
        port = listener.getsockname()[1]
        server = start(serve, listener, transports)
        clients = [start(ask, port, number, answers) for number in range(CLIENTS)]
        for each in [server, *clients]:
            each.join()
    for transport in transports:
        transport.close()
        transport.join()
    print(sorted(answers) == [(number, number, number) for number in range(CLIENTS)])


if __name__ == "__main__":
    if sys.argv[1] == "tasklets":
        patch.install()
        loomlet.run(main)
    else:
        main()
