"""`python -m loomlet doctor exceptions PID`: the exceptions that a running process keeps alive.

The exit status is 0 if there are none, 1 if there are some, 2 for a wrong command line or a process
that does not answer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from loomlet._debug import client
from loomlet._debug.exceptions import KeptException

__all__ = ["render", "show"]

FOUND, FAILED = 1, 2
WORDS = {
    "root": "held by",
    "cycle": "in a cycle that only a collection frees",
    "unknown": "held by C code, from where it is not known",
}


def show(arguments: Sequence[str]) -> int:
    """Prints what the process answers; returns the exit status."""
    if len(arguments) != 1 or not arguments[0].isdecimal():
        print("loomlet doctor: expected `doctor exceptions PID`", file=sys.stderr)
        return FAILED
    try:
        found = client.exceptions(int(arguments[0]))
    except (client.DumpError, ValueError) as error:
        print(f"loomlet doctor: {error}", file=sys.stderr)
        return FAILED
    for line in render(found):
        print(line)
    return FOUND if found else 0


def render(found: Sequence[KeptException]) -> Iterator[str]:
    """The lines, those that keep most first."""
    size = sum(one.bytes for one in found)
    count, keep = ("exception", "keeps") if len(found) == 1 else ("exceptions", "keep")
    what = f", which {keep} {_size(size)}" if found else ""
    yield f"{len(found)} {count} with a traceback{what}"
    for one in found:
        text = f": {one.message}" if one.message else ""
        yield ""
        yield f"{one.kind}{text}"
        yield f"  raised in {one.where}"
        yield f"  keeps {_size(one.bytes)} in {one.objects} objects"
        yield f"  {WORDS[one.held_by]}"
        yield from (f"    {step}" for step in one.path)


def _size(count: int) -> str:
    for unit in "bytes", "kB", "MB":
        if count < 10_000:
            return f"{count} {unit}"
        count //= 1000
    return f"{count} GB"
