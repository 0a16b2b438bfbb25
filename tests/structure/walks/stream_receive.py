"""The same with a stream of loomlet.net, the model for the path of a socket."""

import subprocess

import recording

import loomlet
from loomlet import net


def receive(ours: net.Stream) -> None:
    with recording.walk():
        assert ours.receive_some(5) == b"bytes"


def main() -> None:
    ours, theirs = net.pair()
    late = f"sleep 0.2; printf bytes >&{theirs.fileno()}"
    with ours, theirs, subprocess.Popen(["sh", "-c", late], pass_fds=[theirs.fileno()]):
        loomlet.spawn(receive, ours).join()


loomlet.run(main, slice=None)
