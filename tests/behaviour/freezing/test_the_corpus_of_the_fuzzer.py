"""What fuzz/thaw.py found worth keeping is refused or read, and never a crash.

One damaged input for each answer, made on this kind of Python.  They are given to thaw() in a
process of its own, which keeps all that comes of them: bytes with a right check may hold any code,
and what was made of damaged ones must not run.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[3] / "fuzz" / "corpus"
KIND = "{}.{}".format(*sys.version_info[:2]) + ("t" if "t" in sys.abiflags else "")
REPLAY = """
import gc, os, sys
import loomlet
gc.disable()
kept, refused = [], 0
for line in open(sys.argv[1], encoding="ascii"):
    data = bytes.fromhex(line.split(" ")[0])
    try:
        kept.append(loomlet.thaw(data))
    except (loomlet.ThawError, MemoryError) as error:
        kept.append(error)
        refused += 1
print(len(kept), refused, flush=True)
os._exit(0)
"""


def test_each_input_is_refused_or_read():
    """All of them, and most are refused."""
    path = CORPUS / f"{KIND}.txt"
    if not path.exists():
        pytest.skip(f"no corpus for {KIND}: python fuzz/thaw.py --corpus {path.name}")
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", REPLAY, str(path)],
        env={**os.environ, "ASAN_OPTIONS": sanitizer},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = len(path.read_text(encoding="ascii").splitlines())
    assert done.returncode == 0, done.stderr
    count, refused = map(int, done.stdout.split())
    assert count == lines > 20
    assert refused > lines * 3 // 4
