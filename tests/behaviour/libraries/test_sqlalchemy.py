"""SQLAlchemy on psycopg, unmodified: a program with threads, under `python -m loomlet run`."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("psycopg")

PROGRAM = Path(__file__).with_name("helpers_sqlalchemy_sessions.py")


def test_two_hundred_sessions_are_open_at_once(postgresql_server):
    """They wait for each other inside their transactions; then every row is there, twice."""
    command = [sys.executable, "-m", "loomlet", "run", PROGRAM]
    done = subprocess.run(
        [*command, str(postgresql_server.port), "200", "2"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, "200 things\n400 rows\n"), done.stderr
