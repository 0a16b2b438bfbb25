"""send_sequence(), the one method of a Stackless channel that is written in Python.

It waits in a loop.  A Python function that waits in send() or in a generator is suspended softly;
a loop in C could not be.  loomlet._runtime passes it to the core.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loomlet import _core

__all__ = ["send_sequence"]


def send_sequence(self: _core.StacklessChannel, sequence: Iterable[Any], /) -> int:
    """Sends each item; returns how many.

    An exception of the iterator is raised here.  Waits and fails as send().
    """
    count = 0
    for value in sequence:
        self.send(value)
        count += 1
    return count


send_sequence.__qualname__ = "channel.send_sequence"
