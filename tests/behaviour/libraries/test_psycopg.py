"""psycopg, unmodified, in C and in pure Python, with a PostgreSQL server."""

import os
import subprocess
import sys

import pytest
from helpers_many_tasklets import MANY, SOME

psycopg = pytest.importorskip("psycopg")


@pytest.mark.parametrize(
    ("implementation", "order", "count"),
    [
        ("binary", "first", MANY),
        ("binary", "last", SOME),
        ("python", "first", SOME),
        ("python", "last", SOME),
    ],
)
def test_all_wait_at_once(implementation, order, count, alone):
    """They wait for one lock of the server, which counts them; then each asks again."""
    found = subprocess.run(
        [sys.executable, "-c", "import psycopg"],
        env={**os.environ, "PSYCOPG_IMPL": implementation},
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        pytest.skip(f"psycopg's {implementation}: {found.stderr.strip().splitlines()[-1]}")
    said = alone(order, "psycopg", count, PSYCOPG_IMPL=implementation)
    assert said == f"all at once: psycopg {implementation}\n"
