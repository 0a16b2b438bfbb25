"""Gives damaged dumps to their reader, which must refuse them or make a text of them.

    python fuzz/dumps.py [--seconds N] [--seed S] [--corpus FILE]

A process writes the lines, and a program of the same user reads them: `python -m loomlet dump`.  A
process whose memory is damaged may write anything, and the reader must say so instead of failing in
its own code.  Bytes are changed, and so are whole fields: numbers without bounds, fields and lines
that are missing, doubled or exchanged.
"""

from __future__ import annotations

import random
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from campaign import Fuzzer, changed, main

import loomlet
from loomlet import Channel, Lock, observe
from loomlet._debug import render
from loomlet._debug.parser import FORMAT, Reader

NUMBERS = ("", "0", "-", "-1", "7", "1e9", "inf", "9" * 30, "9" * 400, "9" * 5000, "\N{DIGIT FOUR}")
WORDS = ("\t", "\1", "\2", "\2\1", ":", "+", "+-1", "ok", "no", "\0", "\x1b[2J", "\udcff", "main")


def program() -> str:
    """A dump with tasklets that wait for each other in several ways."""
    jobs, locks = Channel(2, "jobs"), [Lock(), Lock()]

    def holds(mine: Lock, other: Lock) -> None:
        with mine:
            loomlet.sleep(0.001)
            other.acquire(timeout=60)

    spawned = [loomlet.spawn(holds, *locks), loomlet.spawn(holds, *reversed(locks))]
    spawned.append(loomlet.spawn(jobs.receive))
    spawned.append(loomlet.spawn(spawned[0].join, 60))
    spawned.append(loomlet.spawn(loomlet.select, [jobs, (Channel(), 1)]))
    loomlet.sleep(0.01)
    return dump()


def dump() -> str:
    """The lines that this process sends."""
    path, received = observe.serve(), b""
    with socket.socket(socket.AF_UNIX) as asker:
        asker.connect(path)
        asker.sendall(b"dump\n")
        while data := asker.recv(1 << 20):
            received += data
    observe.withdraw()
    return received.decode()


def other_fields(source: random.Random, whole: str) -> str:
    """A few fields or lines that are something else."""
    lines = [line.split("\t") for line in whole.split("\n")]
    for _ in range(source.choice((1, 1, 2, 5))):
        line = source.choice(lines)
        at = source.randrange(len(line))
        match source.randrange(7):
            case 0 | 1:
                line[at] = source.choice(NUMBERS)
            case 2:
                line[at] = source.choice(WORDS)
            case 3 if len(line) > 1:
                del line[at]
            case 4:
                line.insert(at, source.choice(source.choice(lines)))
            case 5:
                lines.insert(source.randrange(len(lines)), list(line))
            case _:
                lines.remove(line)
        lines = lines or [[""]]
    return "\n".join("\t".join(line) for line in lines)


def inputs(source: random.Random) -> Iterator[bytes]:
    """Dumps with other bytes, or with other fields."""
    seen = loomlet.run(program)
    while True:
        if source.random() < 0.4:
            yield changed(source, seen.encode())
        else:
            yield other_fields(source, seen).encode(errors="surrogateescape")


def read(data: bytes) -> object:
    """As `python -m loomlet dump` does it, with and without --all."""
    first, *lines, _ = (*data.decode(errors="replace").split("\n"), "")
    if first != FORMAT:
        raise ValueError(f"expected {FORMAT}")
    reader = Reader()
    reader.take(lines)
    return [list(render.render(reader.dump, every)) for every in (False, True)]


FUZZER = Fuzzer(__file__, inputs, read, (ValueError,))

if __name__ == "__main__":
    sys.exit(main(FUZZER, "Damaged lines for `python -m loomlet dump`."))
