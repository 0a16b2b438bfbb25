"""`python -m loomlet bench list | head -1`: a command that nobody reads ends in silence."""

import os
import signal
import subprocess
import sys

import pytest


@pytest.fixture(params=["", "1"], ids=["buffered", "unbuffered"])
def unread(request):
    """Runs python with a stdout that nobody reads; its status and stderr."""

    def run(*words):
        reader, writer = os.pipe()
        os.close(reader)
        env = {**os.environ, "PYTHONUNBUFFERED": request.param}
        line = [sys.executable, "-m", *words]
        pipes = {"stdout": writer, "stderr": subprocess.PIPE, "text": True}
        try:
            done = subprocess.run(line, **pipes, check=False, timeout=60, env=env)
        finally:
            os.close(writer)
        return done.returncode, done.stderr

    return run


def test_a_command_ends_in_silence(unread):
    """With the status of what SIGPIPE has ended; argparse does not tell that it failed."""
    assert unread("loomlet", "bench", "list") == (128 + signal.SIGPIPE, "")
    assert unread("loomlet", "--help") == (0, "")


def test_a_program_sees_the_error(unread, tmp_path):
    """As under python: it may have something else to do."""
    path = tmp_path / "program.py"
    path.write_text("print('x' * 100000, flush=True)")
    status, stderr = unread("loomlet", "run", str(path))
    assert status != 0
    assert "BrokenPipeError" in stderr
