"""Programs in other languages: found by their version, and built into the bench's cache folder.

A program is built once for each content of its source and each version of its compiler. Building
happens aside and is moved into place, so that two invocations at once do no harm.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from loomlet.bench import machine
from loomlet.bench.model import BenchError

__all__ = ["built", "printed_by"]


@lru_cache
def printed_by(*command: str) -> str:
    """What a short command prints, or '' where it cannot be run."""
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    said = done.stdout.strip() or done.stderr.strip()
    return said if done.returncode == 0 else ""


def built(source: Path, version: str, build: Callable[[Path, Path], list[str]]) -> Path:
    """The folder that holds the built program; `build` gives the command. BenchError if it fails.

    The command writes into the folder that it is given.
    """
    text = source.read_bytes() + version.encode()
    folder = machine.cache() / "programs" / f"{source.name}-{hashlib.sha256(text).hexdigest()[:16]}"
    if folder.exists():
        return folder
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
        command = build(source, Path(aside))
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode:
            reason = (done.stdout + done.stderr).strip().splitlines()[:1]
            raise BenchError(f"building {source.name} failed: {' '.join(reason)}")
        with contextlib.suppress(OSError):
            os.rename(aside, folder)
        Path(aside).mkdir(exist_ok=True)
    return folder
