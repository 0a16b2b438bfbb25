"""The engine reads damaged requests as h11 and httptools do, or refuses them."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[3] / "fuzz" / "requests.py"


def missing():
    """What the program needs and is not there."""
    modules = [name for name in ("h11", "httptools") if importlib.util.find_spec(name) is None]
    return modules + ([] if shutil.which("cc") else ["a C compiler"])


@pytest.mark.slow
def test_damaged_requests_are_read_as_others_read_them():
    """For a few seconds; more of them by hand (fuzz/README.md)."""
    if missing():
        pytest.skip(f"the fuzzer of requests needs {' and '.join(missing())}")
    done = subprocess.run(
        [sys.executable, PROGRAM, "--seconds", "5"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(
        r"(\d+) inputs, (\d+) requests in them, none read otherwise\n", done.stdout
    )
    assert found is not None, done.stdout
    inputs, read = map(int, found.groups())
    assert inputs > read > 0
