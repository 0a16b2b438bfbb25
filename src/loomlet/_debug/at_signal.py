"""SIGUSR1 prints a dump of this process on stderr, unless the signal has a handler already.

The handler is in C and runs `python -m loomlet dump`, so it works while Python is stuck.
"""

from __future__ import annotations

import sys

from loomlet import _core

__all__ = ["dump_at_signal"]


def dump_at_signal() -> None:
    """From now on, and in children that are forked."""
    if sys.executable:
        _core._dump_at_signal((sys.executable, "-P", "-m", "loomlet", "dump"))
