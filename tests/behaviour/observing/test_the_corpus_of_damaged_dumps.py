"""Damaged dumps that fuzz/dumps.py kept are refused or shown."""

import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).parents[3] / "fuzz"


def test_each_dump_is_refused_or_shown():
    """All of them, and most are refused."""
    corpus = FUZZ / "corpus" / "dumps.txt"
    done = subprocess.run(
        [sys.executable, FUZZ / "dumps.py", "--replay", corpus],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = len(corpus.read_text(encoding="ascii").splitlines())
    assert done.returncode == 0, done.stderr
    count, refused = map(int, done.stdout.split())
    assert count == lines > 10
    assert refused > lines * 3 // 4
