"""The lines of each source file, and which of them ran: what gcov and coverage.py have counted."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import coverage

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"


@dataclass(frozen=True)
class Line:
    """A line that can run: the function it is in, and whether it did."""

    number: int
    function: str
    reached: bool


@dataclass(frozen=True)
class File:
    """A source file, by its path below src; no lines when no such interpreter compiles it."""

    path: str
    lines: tuple[Line, ...]

    @property
    def room(self) -> str:
        """The folder it is in."""
        return self.path.rpartition("/")[0]


def c_files(objects: list[Path]) -> list[File]:
    """What gcov counted below the folders of objects.

    A line of a header counts as reached when any file that includes it has run it.
    """
    command = [sys.executable, "-m", "gcovr", "--root", str(SOURCE), "--filter", f"{SOURCE}/core/"]
    command += ["--gcov-ignore-parse-errors=all", "--merge-mode-functions=separate", "--json", "-"]
    command += map(str, objects)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"coverage: {done.stderr}")
    found = {one["file"]: c_lines(one["lines"]) for one in json.loads(done.stdout)["files"]}
    paths = sorted(str(path.relative_to(SOURCE)) for path in (SOURCE / "core").rglob("*.[ch]"))
    return [File(path, found.get(path, ())) for path in paths]


def c_lines(counted: list[dict[str, object]]) -> tuple[Line, ...]:
    """A header may be counted more than once for each line."""
    merged: dict[int, Line] = {}
    for one in counted:
        number = int(str(one["line_number"]))
        reached = bool(one["count"]) or (number in merged and merged[number].reached)
        merged[number] = Line(number, str(one.get("function_name", "")), reached)
    return tuple(merged[number] for number in sorted(merged))


def python_files(data: Path, installed: Path) -> list[File]:
    """What coverage.py counted in the installed package, whose files are those of src/loomlet.

    The bench is not measured: most of it runs in other interpreters, beside peers, to be timed.
    """
    measured = coverage.Coverage(data_file=str(data))
    measured.load()
    found = []
    for path in sorted((SOURCE / "loomlet").rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        if name.startswith("loomlet/bench/"):
            continue
        _, lines, _, missing, _ = measured.analysis2(str(installed / name))
        owner = dict(functions_of(path))
        found.append(
            File(name, tuple(Line(n, owner.get(n, ""), n not in set(missing)) for n in lines))
        )
    return found


def functions_of(path: Path) -> Iterator[tuple[int, str]]:
    """(line, name of the function whose body it is in); the innermost comes last."""

    def walk(node: ast.AST, name: str) -> Iterator[tuple[int, str]]:
        for child in ast.iter_child_nodes(node):
            inner = name
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{name}.{child.name}".lstrip(".")
                if not isinstance(child, ast.ClassDef):
                    body = range(child.body[0].lineno, child.body[-1].end_lineno + 1)
                    yield from ((number, inner) for number in body)
            yield from walk(child, inner)

    yield from walk(ast.parse(path.read_text()), "")
