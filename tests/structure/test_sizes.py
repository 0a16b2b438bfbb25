"""Files and functions stay short enough to be read at one sitting.

The aim is under 30 lines for a function; the limits here are what no reader should have to bear.
An exception is named with its size, may only shrink, and leaves the list when it is short enough.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import tree

FILE_LINES = 600
FUNCTION_LINES = 60

C_EXCEPTIONS: dict[str, int] = {}
SOURCE_SUFFIXES = {".c", ".h", ".S", ".py", ".pyi", ".go", ".erl", ".sh", ".md", ".toml"}


def source_files() -> list[Path]:
    """Everything that people read."""
    return [p for p in tree.tracked() if p.suffix in SOURCE_SUFFIXES or tree.is_script(p)]


@pytest.mark.parametrize("path", source_files(), ids=tree.name_of)
def test_a_file_is_short(path: Path) -> None:
    """At most 600 lines."""
    assert len(path.read_text().splitlines()) <= FILE_LINES


@pytest.mark.parametrize("path", tree.c_files(), ids=tree.name_of)
def test_c_functions_are_short(path: Path) -> None:
    """At most 60 lines, head and end counted, but for the named exceptions."""
    for function in tree.c_functions(path):
        limit = C_EXCEPTIONS.get(f"{tree.name_of(path)}:{function.name}", FUNCTION_LINES)
        assert function.lines <= limit, f"{function.name} has {function.lines} lines"


def test_exceptions_are_still_needed() -> None:
    """A function that has become short leaves the list; one that has shrunk lowers its entry."""
    found = {
        f"{tree.name_of(path)}:{function.name}": function.lines
        for path in tree.c_files()
        for function in tree.c_functions(path)
        if function.lines > FUNCTION_LINES
    }
    assert found == C_EXCEPTIONS


def python_functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and lines of each function of a Python file, decorators not counted."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


@pytest.mark.parametrize("path", tree.python_files(), ids=tree.name_of)
def test_python_functions_are_short(path: Path) -> None:
    """At most 60 lines, the docstring counted."""
    for name, lines in python_functions(path):
        assert lines <= FUNCTION_LINES, f"{name} has {lines} lines"


def test_the_reading_finds_functions() -> None:
    """The tests above see the functions: this many in the smallest rooms, and their true size."""
    found = {f.name: f for f in tree.c_functions(tree.CORE / "base" / "b_heap.c")}
    assert {"b_heap_push", "b_heap_remove", "b_heap_free", "sift_up", "before"} <= found.keys()
    assert found["before"].lines == 4
    assert found["before"].static
    assert not found["b_heap_push"].static
