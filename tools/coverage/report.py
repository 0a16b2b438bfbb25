"""The measurement as a table per room, beside the numbers of tests/coverage.toml."""

from __future__ import annotations

import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from lines import ROOT, SOURCE, File, Line

FILE = ROOT / "tests" / "coverage.toml"
TOLERANCE = 0.5
MARK = "# ---- written by `make coverage WRITE=1` ----\n"
FAILURE = re.compile(
    r"return (NULL|-1|0|S_E_\w+|-errno|bind_\w*fail\w*\(.*)\W*;|\bPyErr_|\bPy_X?DECREF|\bPy_CLEAR|"
    r"\b(PyMem|PyMem_Raw|s|n|i)_?\w*(Free|free|drop|release|close)\w*\(|errno|p_close|"
    r"S_E_(MEMORY|SET|SYSTEM)|= NULL;|\braise\b|\bexcept\b"
)
"""Lines that end an operation which has failed."""


def content() -> dict[str, Any]:
    """The file; empty before it is first written."""
    return tomllib.loads(FILE.read_text()) if FILE.exists() else {}


def counted(files: Iterable[File]) -> list[File]:
    """Without the functions that other versions or processors run."""
    elsewhere: dict[str, list[str]] = content().get("elsewhere", {})
    found = []
    for file in files:
        names = elsewhere.get(file.path, [])
        lines = tuple(line for line in file.lines if not matches(line.function, names))
        found.append(File(file.path, () if names == ["*"] else lines))
    return found


def matches(function: str, names: Iterable[str]) -> bool:
    """Whether it is one of these, or inside of one."""
    return any(function == name or function.startswith(f"{name}.") for name in names)


def rooms(files: Iterable[File]) -> dict[str, tuple[int, int]]:
    """(lines, those that were reached) of each folder that has any."""
    found: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file in files:
        found[file.room][0] += len(file.lines)
        found[file.room][1] += sum(line.reached for line in file.lines)
    return {room: (lines, reached) for room, (lines, reached) in sorted(found.items()) if lines}


def percent(lines: int, reached: int) -> float:
    """Rounded down."""
    return 1000 * reached // lines / 10 if lines else 100.0


def together(files: list[File]) -> Iterator[tuple[str, dict[str, tuple[int, int]], int, int]]:
    """(language, its rooms, lines, those that were reached)."""
    measured = rooms(files)
    for language, start in (("C", "core"), ("Python", "loomlet")):
        mine = {room: both for room, both in measured.items() if room.startswith(start)}
        yield language, mine, sum(n for n, _ in mine.values()), sum(n for _, n in mine.values())


def table(files: list[File], held: dict[str, float]) -> Iterator[str]:
    """A line for each room, and for all of each language."""
    for language, mine, lines, reached in together(files):
        yield f"{language:24}  lines  reached    held"
        for room, both in [*mine.items(), ("together", (lines, reached))]:
            then = f"{held[room]:.1f} %" if room in held else ""
            yield f"  {room:22} {both[0]:6} {percent(*both):6.1f} % {then:>7}"


def functions(file: File) -> Iterator[tuple[str, list[Line]]]:
    """(name, its lines); a name that occurs more than once in a file counts as one function."""
    ordered = sorted(file.lines, key=lambda line: (line.function, line.number))
    for function, group in groupby(ordered, key=lambda line: line.function):
        yield function, list(group)


def never(files: Iterable[File]) -> list[str]:
    """Functions of which no line was reached and that no reason is given for."""
    given: dict[str, dict[str, list[str]]] = content().get("unreached", {})
    named = {(path, name) for why in given.values() for path in why for name in why[path]}
    return [
        f"{file.path}: {function} is never run: test it, or name it with the reason"
        for file in files
        for function, lines in functions(file)
        if function and not any(line.reached for line in lines)
        if (file.path, function) not in named and (file.path, "*") not in named
    ]


def compare(files: list[File]) -> int:
    """Prints the table and what is wrong; 1 when something is."""
    files = counted(files)
    held: dict[str, float] = content().get("rooms", {})
    print("\n".join(table(files, held)))
    wrong = [
        f"{room} was {held[room]} %, is {percent(*both)} %"
        for room, both in rooms(files).items()
        if room in held and percent(*both) < held[room] - TOLERANCE
    ]
    wrong += [f"{room} is not in {FILE.name}" for room in rooms(files) if room not in held]
    wrong += never(files)
    for line in wrong:
        print(f"coverage: {line}", file=sys.stderr)
    return bool(wrong)


def print_lines(files: Iterable[File], start: str) -> None:
    """Every line that was not reached, of the files whose path begins so."""
    for file in counted(files):
        text = (SOURCE / file.path).read_text().splitlines()
        for function, lines in functions(file) if file.path.startswith(start) else ():
            missing = [line.number for line in lines if not line.reached]
            if missing:
                print(f"{file.path}: {function}")
                print("".join(f"{number:6}: {text[number - 1]}\n" for number in missing), end="")


def what_is_left(files: Iterable[File]) -> Iterator[str]:
    """Comments: how many lines are not reached, and of what kind they are."""
    for language, start in (("C", "core"), ("Python", "loomlet")):
        left = failures = 0
        for file in files:
            text = (SOURCE / file.path).read_text().splitlines()
            missing = [line.number for line in file.lines if not line.reached]
            if file.path.startswith(start):
                left += len(missing)
                failures += sum(bool(FAILURE.search(text[number - 1])) for number in missing)
        yield f"# {language}: {left} lines are not reached; {failures} of them end something that"
        yield "# failed: no memory, an error of the interpreter or of the system."


def write(files: list[File]) -> None:
    """The numbers of this run; the part above the mark stays."""
    files = counted(files)
    by_hand, _, _ = (FILE.read_text() if FILE.exists() else "").partition(MARK)
    numbers = [f'"{room}" = {percent(*both)}' for room, both in rooms(files).items()]
    total = [
        f"# {language}: {lines} lines, {percent(lines, reached)} % reached."
        for language, _, lines, reached in together(files)
    ]
    written = [*total, *what_is_left(files), "", "[rooms]", *numbers]
    FILE.write_text(by_hand + MARK + "\n".join(written) + "\n")
