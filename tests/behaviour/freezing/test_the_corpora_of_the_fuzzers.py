"""Damaged input that fuzz/thaw.py and fuzz/pickles.py kept is refused or read, and never a crash.

One input for each answer, made on this kind of Python.  A process of its own reads them and keeps
all results: they may hold any code, and must not run.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[3] / "fuzz"
KIND = "{}.{}".format(*sys.version_info[:2]) + ("t" if "t" in sys.abiflags else "")


@pytest.mark.parametrize("fuzzer", ["thaw", "pickles"])
def test_each_input_is_refused_or_read(fuzzer):
    """All of them, and most are refused."""
    corpus, program = FUZZ / "corpus" / fuzzer / f"{KIND}.txt", FUZZ / f"{fuzzer}.py"
    if not corpus.exists():
        pytest.skip(f"no corpus for {KIND}: python {program} --corpus {corpus}")
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", program, "--replay", corpus],
        env={**os.environ, "ASAN_OPTIONS": sanitizer},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = len(corpus.read_text(encoding="ascii").splitlines())
    assert done.returncode == 0, done.stderr
    count, refused = map(int, done.stdout.split())
    assert count == lines > 20
    assert refused > lines * 3 // 4
