"""What all fuzzers share: batches in child processes, a corpus, and the command line.

A child that dies of a signal, hangs, or raises an unexpected error leaves its last input in
the temporary folder that is named, and the program ends with status 1.  Nothing that was read is
freed: a child keeps it all and leaves by os._exit().
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SPARE = 1 << 30
LONGEST = 300
TEXT = 40
CHANGING = re.compile(r"[^ -~]|0x\w+|\d+|'[^']*'|\"[^\"]*\"|b\S+")


@dataclass(frozen=True)
class Fuzzer:
    """A program, its endless inputs, and the call that reads one.

    `read` returns what it has made of the input; `refusals` are the errors it may raise.
    """

    file: str
    inputs: Callable[[random.Random], Iterator[bytes]]
    read: Callable[[bytes], object]
    refusals: tuple[type[BaseException], ...]
    batch: int = 2000


def changed(source: random.Random, data: bytes) -> bytes:
    """A few random changes of bytes."""
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


def answer(fuzzer: Fuzzer, data: bytes, kept: list[object]) -> str:
    """The outcome of the reader, as text."""
    try:
        kept.append(fuzzer.read(data))
    except fuzzer.refusals as error:
        kept.append(error)
        cause = error.__cause__
        return constant(error) + (f" <- {constant(cause)}" if cause is not None else "")
    return "read"


def constant(error: BaseException) -> str:
    """The text of an error, without the parts that differ each time."""
    text = re.sub(r"^\S+ is not in this", "* is not in this", CHANGING.sub("*", str(error)))
    return f"{type(error).__name__}: {text[:TEXT]}"


def child(fuzzer: Fuzzer, seed: int, last: Path, corpus: Path | None) -> None:
    """One batch; exits without running what was read."""
    inputs = fuzzer.inputs(random.Random(seed))
    limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + SPARE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    known: set[str] = set()
    kept: list[object] = []
    gc.disable()
    for _ in range(fuzzer.batch):
        data = next(inputs)
        last.write_bytes(data)
        said = answer(fuzzer, data, kept)
        if said not in known and corpus is not None:
            known.add(said)
            with corpus.open("a", encoding="ascii") as file:
                file.write(f"{neutral(data).hex()} {said}\n")
    os._exit(0)


def neutral(data: bytes) -> bytes:
    """The input with the folders of this machine overwritten; its length stays the same."""
    folders = {str(Path(name).resolve()).encode() for name in (*sys.path, sys.prefix)}
    for folder in sorted(folders, key=len, reverse=True):
        data = data.replace(folder, b"/" + b"x" * (len(folder) - 1))
    return data


def batch(fuzzer: Fuzzer, words: list[str], folder: Path) -> str:
    """Runs a child; returns "" or how it failed."""
    command = [sys.executable, "-W", "ignore", fuzzer.file, "--child", *words]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=LONGEST
        )
    except subprocess.TimeoutExpired:
        return "hung"
    if done.returncode < 0:
        return f"died of {signal.Signals(-done.returncode).name}"
    return f"{done.stderr}failed" if done.returncode else ""


def run(fuzzer: Fuzzer, seconds: float, seed: int, corpus: Path | None) -> int:
    """Children, one after the other; 1 when one of them did not end well."""
    folder = Path(tempfile.mkdtemp(prefix="loomlet-fuzz-"))
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        last = folder / f"{seed + count}.bin"
        words = [str(seed + count), str(last), *([str(corpus)] if corpus else [])]
        wrong = batch(fuzzer, words, folder)
        if wrong:
            print(f"{wrong}: {last}")
            return 1
        last.unlink()
        count += 1
    if corpus is not None:
        tidy(corpus)
    folder.rmdir()
    print(f"{count * fuzzer.batch} inputs, no crash")
    return 0


def tidy(corpus: Path) -> None:
    """One input for each answer, the shortest."""
    best: dict[str, str] = {}
    for line in sorted(corpus.read_text(encoding="ascii").splitlines(), key=len):
        data, _, said = line.partition(" ")
        best.setdefault(said, data)
    corpus.write_text("".join(f"{data} {said}\n" for said, data in best.items()), encoding="ascii")


def replay(fuzzer: Fuzzer, corpus: Path) -> None:
    """Reads a corpus; prints how many inputs there were and how many of them were refused."""
    kept: list[object] = []
    gc.disable()
    lines = corpus.read_text(encoding="ascii").splitlines()
    said = [answer(fuzzer, bytes.fromhex(line.split(" ")[0]), kept) for line in lines]
    print(len(said), len(said) - said.count("read"), flush=True)
    os._exit(0)


def main(fuzzer: Fuzzer, title: str) -> int:
    """The command line of a fuzzer."""
    if sys.argv[1:2] == ["--child"]:
        corpus = Path(sys.argv[4]) if len(sys.argv) > 4 else None
        child(fuzzer, int(sys.argv[2]), Path(sys.argv[3]), corpus)
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="the first batch (default: 1)")
    parser.add_argument("--corpus", type=Path, help="keep one input per answer in this file")
    parser.add_argument("--replay", type=Path, help="only read the inputs of this file")
    given = parser.parse_args()
    if given.replay:
        replay(fuzzer, given.replay)
    return run(fuzzer, given.seconds, given.seed, given.corpus and given.corpus.absolute())
