"""Gives damaged bytes to loomlet.thaw(), which must refuse them and never crash the process.

    python fuzz/thaw.py [--seconds N] [--seed S] [--corpus FILE]

Some tasklets are frozen, their bytes are changed at random, and thaw() is called: half of the
inputs as they are, which the check at their head must find, half with a new check, so that the
change reaches the reader behind it.  What that makes of a tasklet is never run: bytes with a right
check may hold any code, and thawing them is running it.

The work is done by child processes.  One that dies of a signal leaves its last input in the
temporary folder that is named, and this program ends with status 1.  With `--corpus` one input for
each kind of answer is kept there, as hexadecimal digits and the answer; tests/behaviour/freezing
replays the files of fuzz/corpus, one for each kind of Python.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import loomlet
from loomlet import Channel, ThawError
from loomlet.bench.programs import frozen
from loomlet.snapshot import envelope

BATCH = 2000
SPARE = 1 << 30
HEAD = envelope.HEAD.size + envelope.PLAIN_CHECK


def seeds() -> list[bytes]:
    """Frozen tasklets of several shapes; their functions go by name.

    Code by value would be read by `marshal`, which is not made for damaged input.
    """
    found = []
    for call, argument in ((frozen.waiting, 3), (frozen.below, 7), (frozen.handler, "somebody")):
        task = loomlet.spawn(call, Channel(), argument)
        loomlet.schedule()
        found.append(loomlet.freeze(task))
        task.kill()
    return found


def changed(source: random.Random, data: bytes) -> bytes:
    """A few random changes."""
    out = bytearray(data)
    for _ in range(source.choice((1, 1, 1, 2, 4))):
        at = source.randrange(len(out) + 1)
        match source.randrange(6):
            case 0 if at < len(out):
                out[at] ^= 1 << source.randrange(8)
            case 1 if at < len(out):
                out[at] = source.randrange(256)
            case 2:
                del out[at:]
            case 3:
                del out[at : at + source.randrange(1, 9)]
            case 4:
                out[at:at] = source.randbytes(source.randrange(1, 5))
            case _:
                other = source.randrange(len(out) + 1)
                out[at:at] = out[other : other + source.randrange(1, 17)]
        if not out:
            break
    return bytes(out)


def one_input(source: random.Random, data: bytes) -> bytes:
    """Bytes with a wrong check, or with a right one around a changed inside."""
    if source.random() < 0.5:
        return changed(source, data)
    return envelope.seal(changed(source, data[HEAD:]), None)


def answer(data: bytes, kept: list[object]) -> str:
    """What thaw() says, without the parts that differ each time; nothing of it may end."""
    try:
        kept.append(loomlet.thaw(data))
    except (ThawError, MemoryError) as error:
        kept.append(error)
        text = re.sub(r"[^ -~]|0x\w+|\d+|'[^']*'|\"[^\"]*\"|b\S+", "*", str(error))
        text = re.sub(r"^\S+ is not in this", "* is not in this", text)
        return f"{type(error).__name__}: {text[:40]}"
    return "thawed"


def child(seed: int, last: Path, corpus: Path | None) -> None:
    """One batch; exits without running what was thawed."""
    source = random.Random(seed)
    sources = seeds()
    limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + SPARE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    known: set[str] = set()
    kept: list[object] = []
    gc.disable()
    for _ in range(BATCH):
        data = one_input(source, source.choice(sources))
        last.write_bytes(data)
        said = answer(data, kept)
        if said not in known and corpus is not None:
            known.add(said)
            with corpus.open("a", encoding="ascii") as file:
                file.write(f"{data.hex()} {said}\n")
    os._exit(0)


def run(seconds: float, seed: int, corpus: Path | None) -> int:
    """Children, one after the other; 1 when one of them died."""
    folder = Path(tempfile.mkdtemp(prefix="loomlet-fuzz-"))
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        last = folder / f"{seed + count}.bin"
        words = [sys.executable, __file__, "--child", str(seed + count), str(last)]
        if corpus is not None:
            words.append(str(corpus))
        done = subprocess.run(words, cwd=folder, stderr=subprocess.DEVNULL, check=False)
        if done.returncode < 0:
            print(f"died of {signal.Signals(-done.returncode).name}: {last}")
            return 1
        if done.returncode:
            print(f"failed: {last}")
            return 1
        count += 1
    if corpus is not None:
        tidy(corpus)
    print(f"{count * BATCH} inputs, no crash")
    return 0


def tidy(corpus: Path) -> None:
    """One input for each answer, the shortest."""
    best: dict[str, str] = {}
    for line in sorted(corpus.read_text(encoding="ascii").splitlines(), key=len):
        data, _, said = line.partition(" ")
        best.setdefault(said, data)
    corpus.write_text("".join(f"{data} {said}\n" for said, data in best.items()), encoding="ascii")


def main() -> int:
    """The command line."""
    if sys.argv[1:2] == ["--child"]:
        corpus = Path(sys.argv[4]) if len(sys.argv) > 4 else None
        child(int(sys.argv[2]), Path(sys.argv[3]), corpus)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="the first batch (default: 1)")
    parser.add_argument("--corpus", type=Path, help="keep one input per answer in this file")
    given = parser.parse_args()
    return run(given.seconds, given.seed, given.corpus and given.corpus.absolute())


if __name__ == "__main__":
    sys.exit(main())
