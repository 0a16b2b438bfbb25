"""A patched socket of the standard library receives bytes that arrive while its tasklet waits."""

import socket
import subprocess

import recording

import loomlet
from loomlet import patch


def receive(ours: socket.socket) -> None:
    with recording.walk():
        assert ours.recv(5) == b"bytes"


def main() -> None:
    ours, theirs = socket.socketpair()
    late = f"sleep 0.2; printf bytes >&{theirs.fileno()}"
    with ours, theirs, subprocess.Popen(["sh", "-c", late], pass_fds=[theirs.fileno()]):
        loomlet.spawn(receive, ours).join()


patch.install()
loomlet.run(main, slice=None)
