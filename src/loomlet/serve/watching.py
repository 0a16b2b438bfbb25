"""--reload: sees that files of the program have changed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence

__all__ = ["watch_files"]

PERIOD = 1.0
SKIPPED = {"__pycache__", "node_modules"}


def watch_files(folders: Sequence[str]) -> Callable[[], bool]:
    """A function that says whether a Python file below these folders has changed since its last
    call; it looks once a second."""
    known = dict(_facts(folders))
    looked = time.monotonic()

    def changed() -> bool:
        nonlocal known, looked
        if time.monotonic() - looked < PERIOD:
            return False
        looked = time.monotonic()
        before, known = known, dict(_facts(folders))
        return known != before

    return changed


def _facts(folders: Sequence[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    for folder in folders:
        for where, inside, files in os.walk(folder):
            inside[:] = [n for n in inside if n not in SKIPPED and not n.startswith(".")]
            for name in files:
                if name.endswith(".py"):
                    path = os.path.join(where, name)
                    try:
                        facts = os.stat(path)
                    except OSError:
                        continue
                    yield path, (facts.st_mtime_ns, facts.st_size)
