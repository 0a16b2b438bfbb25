"""Freezes old_functions with the running interpreter into tests/snapshots/<version>/<build>/.

    python tests/snapshots/keep.py

Run once for each released version and each CPython; what is there already is never written again.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import old_functions

import loomlet
from loomlet import Channel

HERE = Path(__file__).parent
BUILD = f"cpython-3.{sys.version_info[1]}{'t' if 't' in sys.abiflags else ''}"


def frozen(name):
    """A tasklet in its first wait."""
    task = loomlet.spawn(getattr(old_functions, name), Channel())
    loomlet.schedule()
    return loomlet.freeze(task)


def keep():
    """All of them."""
    folder = HERE / version("loomlet") / BUILD
    folder.mkdir(parents=True, exist_ok=True)
    for name in old_functions.EXPECTED:
        file = folder / f"{name}.frozen"
        if not file.exists():
            file.write_bytes(frozen(name))


if __name__ == "__main__":
    keep()
