"""psycopg, unmodified, in C and in pure Python, with a PostgreSQL server."""

import os
import subprocess
import sys

import pytest
from helpers_many_tasklets import MANY

psycopg = pytest.importorskip("psycopg")


@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("implementation", ["python", "binary"])
def test_all_wait_at_once(implementation, order, alone):
    """A thousand wait for one lock of the server, which counts them; then each asks again."""
    found = subprocess.run(
        [sys.executable, "-c", "import psycopg"],
        env={**os.environ, "PSYCOPG_IMPL": implementation},
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        pytest.skip(f"psycopg's {implementation}: {found.stderr.strip().splitlines()[-1]}")
    said = alone(order, "psycopg", MANY, PSYCOPG_IMPL=implementation)
    assert said == f"all at once: psycopg {implementation}\n"
