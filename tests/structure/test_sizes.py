"""Files, functions and lines stay short enough to be read in one go.

Text is wrapped at 100 columns.  Exceptions are rows of tables, links that cannot be broken, and
output that a page shows as it was printed.

The aim is under 30 lines for a function; the limits here are the most a reader should bear.
An exception is named with its size, may only shrink, and leaves the list when it is short enough.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import helpers_tree as tree

FILE_LINES = 600
FUNCTION_LINES = 60
COLUMNS = 100

C_EXCEPTIONS: dict[str, int] = {}
TAB = 4
# What a fenced block of a page may hold besides shown output.
PROGRAMS = {"python", "c", "sh", "toml"}
# What tests have recorded.
DATA_SUFFIXES = {".txt", ".frozen"}
SOURCE_SUFFIXES = {".c", ".h", ".S", ".py", ".pyi", ".go", ".erl", ".sh", ".md", ".toml"}


def source_files() -> list[Path]:
    """All files that people read."""
    return [p for p in tree.tracked() if p.suffix in SOURCE_SUFFIXES or tree.is_script(p)]


def test_files_are_short() -> None:
    """At most 600 lines."""
    lengths = {path: len(tree.text_of(path).splitlines()) for path in source_files()}
    tree.assert_none(
        [f"{tree.name_of(p)}: {lines}" for p, lines in lengths.items() if lines > FILE_LINES],
        f"files of more than {FILE_LINES} lines",
    )


def unbreakable(line: str) -> bool:
    """Whether a line is one link: nothing else is on it but a mark of a list or comment."""
    return bool(re.fullmatch(r"\s*(?:\W+\s+)?\S*(?:://|\]\()\S*", line))


def long_lines(path: Path) -> Iterator[int]:
    """The numbers of the lines that are too long."""
    fence: str | None = None
    for number, line in enumerate(tree.text_of(path).splitlines(), 1):
        markdown = path.suffix == ".md"
        if markdown and (found := re.match(r"\s*```(\w*)", line)):
            fence = found[1] if fence is None else None
        free = markdown and (line.startswith("|") or (fence is not None and fence not in PROGRAMS))
        if len(line.expandtabs(TAB)) > COLUMNS and not free and not unbreakable(line):
            yield number


def test_lines_are_short() -> None:
    """At most 100 columns, in all texts."""
    tree.assert_none(
        [
            f"{tree.name_of(path)}:{number}"
            for path in tree.texts()
            if path.suffix not in DATA_SUFFIXES
            for number in long_lines(path)
        ],
        f"lines of more than {COLUMNS} columns",
    )


def test_the_reading_finds_long_lines(tmp_path: Path) -> None:
    """Prose and programs are checked, in Markdown too; rows, links and shown output are not."""
    long = "word " * COLUMNS
    link = "x" * COLUMNS
    page = tmp_path / "page.md"
    page.write_text(
        f"{long}\n| {long} |\n- [{link}](to.md)\n- see [{link}](to.md)\n"
        f"```\n{long}\n```\n{long}\n```python\n{long}\n```\n{long}\n"
    )
    assert list(long_lines(page)) == [1, 4, 8, 10, 12]
    source = tmp_path / "source.c"
    source.write_text(f"// {long}\n|{long}\n\t{'x' * (COLUMNS - TAB)}\n\t{link}\n")
    assert list(long_lines(source)) == [1, 2, 4]


def long_c_functions() -> dict[str, int]:
    """Each C function over the limit, head and end counted."""
    return {
        f"{tree.in_core(path)}:{function.name}": function.lines
        for path in tree.c_files()
        for function in tree.c_functions(path)
        if function.lines > FUNCTION_LINES
    }


def test_c_functions_are_short() -> None:
    """At most 60 lines, but for the named exceptions, which do not grow."""
    tree.assert_none(
        [
            f"{name}: {lines}"
            for name, lines in long_c_functions().items()
            if lines > C_EXCEPTIONS.get(name, FUNCTION_LINES)
        ],
        f"C functions of more than {FUNCTION_LINES} lines",
    )


def test_exceptions_are_still_needed() -> None:
    """A function that became short enough leaves the list; if it shrank, its entry is lowered."""
    assert long_c_functions() == C_EXCEPTIONS


def python_functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and lines of each function of a Python file, decorators not counted."""
    for node in ast.walk(ast.parse(tree.text_of(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


def test_python_functions_are_short() -> None:
    """At most 60 lines, the docstring counted."""
    tree.assert_none(
        [
            f"{tree.name_of(path)}:{name}: {lines}"
            for path in tree.python_files()
            for name, lines in python_functions(path)
            if lines > FUNCTION_LINES
        ],
        f"Python functions of more than {FUNCTION_LINES} lines",
    )


def test_the_reading_finds_functions() -> None:
    """The tests above see the functions: this many in the smallest rooms, and their true size."""
    found = {f.name: f for f in tree.c_functions(tree.CORE / "base" / "b_heap.c")}
    assert {"b_heap_push", "b_heap_remove", "b_heap_free", "sift_up", "is_before"} <= found.keys()
    assert found["is_before"].lines == 4
    assert found["is_before"].static
    assert not found["b_heap_push"].static
