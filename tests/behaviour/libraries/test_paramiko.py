"""paramiko, unmodified: a server of its own and thirty clients in one process."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).parent / "helpers_ssh_conversations.py")

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("paramiko") is None, reason="paramiko is not installed"
)


@pytest.mark.parametrize("how", ["threads", "tasklets"])
def test_conversations(how):
    """Threads are under `loomlet run`; in tasklets, the transports remain threads."""
    run = ["-m", "loomlet", "run"] if how == "threads" else []
    command = [sys.executable, *run, PROGRAM, how]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
