"""The specification of the Stackless API and its tests match.

Each row of docs/reference/stackless.md says yes, or differs and how, and names a test file in which
some docstring names the row; each such docstring names an existing row.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "stackless.md"
TESTS = ROOT / "tests" / "behaviour" / "stackless"
SECTION = re.compile(r"^## (\d+)\. ")
CELL = re.compile(r"(?<!\\)\|")
NAMED = re.compile(r"Spec (\d+), (.+?): ")


@dataclass(frozen=True)
class Row:
    """One line of a table of the page."""

    section: int
    name: str
    what: str
    verdict: str
    test: str


def rows() -> list[Row]:
    """All rows of the numbered sections, without the heads of the tables."""
    found, section = [], 0
    for line in PAGE.read_text().splitlines():
        if head := SECTION.match(line):
            section = int(head[1])
        elif section and line.startswith("| `"):
            cells = [cell.strip() for cell in CELL.split(line)[1:-1]]
            assert len(cells) == 4, line
            found.append(Row(section, cells[0].strip("`"), *cells[1:]))
    return found


def named(path: Path) -> set[tuple[int, str]]:
    """The rows that the tests of a file name; every test has to name one."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            match = NAMED.match(ast.get_docstring(node) or "")
            assert match, f"{path.name}: {node.name} does not name a row"
            found.add((int(match[1]), match[2]))
    return found


ROWS = rows()
FILES = {p.name: named(p) for p in sorted(TESTS.glob("test_*.py")) if p.stem != "test_examples"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.section}-{row.name}")
def test_a_row_has_a_test_that_names_it(row: Row) -> None:
    """The file exists, and one of its docstrings begins with the row."""
    assert row.test in FILES, f"there is no {row.test}"
    assert (row.section, row.name) in FILES[row.test], f"{row.test} does not name the row"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.section}-{row.name}")
def test_a_row_says_yes_or_how_it_differs(row: Row) -> None:
    """Nothing in between, and the difference is stated."""
    assert row.what
    assert row.verdict == "yes" or re.match(r"differs: .{8,}", row.verdict), row.verdict


@pytest.mark.parametrize("name", FILES)
def test_a_test_names_rows_that_exist(name: str) -> None:
    """No test is about a row that the page does not have."""
    there = {(row.section, row.name) for row in ROWS}
    assert FILES[name] <= there, FILES[name] - there


def test_rows_are_named_once() -> None:
    """Within a section each name is there once; sections 1 to 10 have rows."""
    keys = [(row.section, row.name) for row in ROWS]
    assert len(keys) == len(set(keys))
    assert {section for section, _ in keys} == set(range(1, 11))
