"""Gives damaged bytes to loomlet.thaw(), which must refuse them and never crash the process.

    python fuzz/thaw.py [--seconds N] [--seed S] [--corpus FILE]

Some tasklets are frozen, their bytes are changed at random, and thaw() is called: half of the
inputs as they are, which the check at their head must find, half with a new check, so that the
change reaches the reader behind it.  Thawed tasklets are never run: bytes with a correct check may
hold any code.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from campaign import Fuzzer, changed, main

import loomlet
from loomlet import Channel, ThawError
from loomlet.bench.programs import frozen
from loomlet.snapshot import _envelope

HEAD = _envelope.HEAD.size + _envelope.PLAIN_CHECK


def seeds() -> list[bytes]:
    """Frozen tasklets of several shapes; their functions go by name.

    Code by value would be read by `marshal`, which is not made for damaged input.
    """
    found = []
    for call, argument in ((frozen.waiting, 3), (frozen.below, 7), (frozen.handler, "argument")):
        task = loomlet.spawn(call, Channel(), argument)
        loomlet.schedule()
        found.append(loomlet.freeze(task))
        task.kill()
    return found


def inputs(source: random.Random) -> Iterator[bytes]:
    """Bytes with a wrong check, or with a right one around a changed inside."""
    frozen_ones = seeds()
    while True:
        data = source.choice(frozen_ones)
        if source.random() < 0.5:
            yield changed(source, data)
        else:
            yield _envelope.seal(changed(source, data[HEAD:]), None)


FUZZER = Fuzzer(__file__, inputs, loomlet.thaw, (ThawError, MemoryError))

if __name__ == "__main__":
    sys.exit(main(FUZZER, "Damaged bytes for loomlet.thaw()."))
