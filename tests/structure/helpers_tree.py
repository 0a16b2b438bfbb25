"""The source tree as the structure tests read it: files, C functions, Python imports.

A room is a folder of src/core; a sub-room is a folder in a room.  A rule is one test that lists all
that break it (`assert_none`).

The C reading relies on the common form (clang-format): a function's brace stands alone in the first
column, its end likewise, and its head begins after a blank line, a comment or another end.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "src" / "core"
PACKAGE = ROOT / "src" / "loomlet"
NOT_OURS = {".git", ".venv", ".envs", "build", "dist", "__pycache__", ".cache"}


@cache
def tracked() -> tuple[Path, ...]:
    """Every file of the project that exists: by git, or all that is not made, without git."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        found = [p for p in ROOT.rglob("*") if not NOT_OURS & set(p.relative_to(ROOT).parts)]
    else:
        found = [ROOT / name for name in done.stdout.decode().split("\0") if name]
    return tuple(sorted(path for path in found if path.is_file()))


@cache
def texts() -> tuple[Path, ...]:
    """Every tracked file that is text; a pickle is not, even in the protocol of ASCII lines."""
    found = [path for path in tracked() if path.suffix != ".pickle"]
    return tuple(path for path in found if b"\0" not in path.read_bytes())


def assert_none(offenders: Iterable[str], rule: str) -> None:
    """Fails when there are offenders, and lists all of them under the rule."""
    found = list(offenders)
    if found:
        pytest.fail("\n  ".join([f"{rule} ({len(found)}):", *found]), pytrace=False)


@cache
def text_of(path: Path) -> str:
    """The text of a file, read once."""
    return path.read_text()


def rooms() -> list[Path]:
    """The folders of src/core."""
    return sorted(path for path in CORE.iterdir() if path.is_dir())


def folders() -> list[Path]:
    """The rooms and their sub-rooms."""
    return sorted(
        [*rooms(), *(path for room in rooms() for path in room.iterdir() if path.is_dir())]
    )


def room_of(path: Path) -> str:
    """The room of a file, whichever sub-room it is in."""
    return path.relative_to(CORE).parts[0]


def in_core(path: Path) -> str:
    """The path of a file or folder of the core as an #include writes it."""
    return path.relative_to(CORE).as_posix()


@cache
def c_files() -> tuple[Path, ...]:
    """All C sources and headers of the core."""
    return tuple(sorted(path for path in CORE.rglob("*.[chS]") if path.is_file()))


def python_files() -> list[Path]:
    """All Python sources: the package, the tests, and the tools without a suffix."""
    return [path for path in tracked() if path.suffix in (".py", ".pyi") or is_script(path)]


def is_script(path: Path) -> bool:
    """A file without suffix whose first line names Python."""
    return not path.suffix and path.read_bytes()[:64].split(b"\n")[0].endswith(b"python3")


def name_of(path: Path) -> str:
    """The path as people write it."""
    return path.relative_to(ROOT).as_posix()


def without_comments(text: str) -> str:
    """C text with comments and the content of strings blanked; lines stay where they are."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"'

    def blank(found: re.Match[str]) -> str:
        keep = found[0] if found[0].startswith('"') and "\n" not in found[0] else ""
        return ('""' if keep else "") + "\n" * found[0].count("\n")

    return re.sub(pattern, blank, text, flags=re.DOTALL)


@dataclass(frozen=True)
class CFunction:
    """One function of a C file: its name, the lines from head to end, and its storage."""

    path: Path
    name: str
    lines: int
    static: bool


def _head(lines: list[str], brace: int) -> int:
    """The first line of the head whose brace is at `brace`."""
    first = brace
    while first > 0:
        line = lines[first - 1]
        if not line.strip() or line[0] in "#}" or line.rstrip().endswith((";", "*/", ":")):
            break
        first -= 1
    return first


@cache
def code_of(path: Path) -> str:
    """The text of a C file without comments and strings."""
    return without_comments(text_of(path))


@cache
def c_functions(path: Path) -> tuple[CFunction, ...]:
    """The functions defined in a C file."""
    return tuple(_read_functions(path))


def _read_functions(path: Path) -> Iterator[CFunction]:
    lines = code_of(path).split("\n")
    for brace, line in enumerate(lines):
        if line != "{":
            continue
        first = _head(lines, brace)
        head = " ".join(lines[first:brace])
        found = re.search(r"(\w+)\s*\(", re.sub(r"__attribute__\s*\(\(.*?\)\)", "", head))
        if found is None:
            continue
        end = lines.index("}", brace)
        yield CFunction(path, found[1], end - first + 1, "static" in head.split())


def imports(path: Path) -> Iterator[tuple[str, ast.stmt]]:
    """The dotted names that a Python file imports, with `from a import b` as a.b."""
    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno}: a relative import"
            for alias in node.names:
                yield f"{node.module}.{alias.name}", node
