"""One look at a call tells which room its body is in: a prefix per room.

Checked for what other files can see: functions and variables that are not static, what the headers
declare, and the labels of the assembler files.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tree

PREFIXES = {
    "base": ("b_", "track_"),
    "plat": ("p_",),
    "heap": ("h_",),
    "cpython": ("c_",),
    "sched": ("s_",),
    "chan": ("n_",),
    "sync": ("y_",),
    "io": ("i_",),
    "bind": ("bind_",),
}
# Names that somebody else has given.
GIVEN = {
    "PyInit__core": ("bind/module.c",),
    "PyErr_GetRaisedException": ("cpython/cpython.h", "cpython/py311.c"),
    "PyErr_SetRaisedException": ("cpython/cpython.h", "cpython/py311.c"),
}
PROTOTYPE = re.compile(r"^(?!typedef|static|return|else)\w[\w\s*]*?\b(\w+)\s*\([^;{}]*\)\s*;", re.M)
VARIABLE = re.compile(r"^extern\s+[^;(]*;", re.M)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)")
BODY = re.compile(
    r"^(?:\{$.*?^\}|(?:typedef )?(?:struct|union|enum)\b[^;{]*\{.*?^\}[^;]*;)", re.M | re.S
)


def prefixed(path: Path, name: str) -> bool:
    """Whether a name fits the room of the file that gives it."""
    mine = name.startswith(PREFIXES[path.parent.name])
    return mine or f"{path.parent.name}/{path.name}" in GIVEN.get(name, ())


@pytest.mark.parametrize("path", tree.c_files(), ids=tree.name_of)
def test_functions_that_others_see_carry_the_prefix(path: Path) -> None:
    """Definitions that are not static."""
    for function in tree.c_functions(path):
        assert function.static or prefixed(path, function.name), function.name


@pytest.mark.parametrize("path", [p for p in tree.c_files() if p.suffix == ".h"], ids=tree.name_of)
def test_declarations_carry_the_prefix(path: Path) -> None:
    """Prototypes and `extern` variables of a header."""
    text = BODY.sub("", ATTRIBUTE.sub("", tree.without_comments(path.read_text())))
    names = [found[1] for found in PROTOTYPE.finditer(text)]
    for found in VARIABLE.finditer(text):
        names += [re.findall(r"\w+", part)[-1] for part in found[0].split("[")[0].split(",")]
    for name in names:
        assert prefixed(path, name), name


@pytest.mark.parametrize("path", [p for p in tree.c_files() if p.suffix == ".S"], ids=tree.name_of)
def test_labels_carry_the_prefix_and_are_hidden(path: Path) -> None:
    """Each global label of an assembler file is ours, and no other library sees it."""
    text = path.read_text()
    labels = re.findall(r"\.globl\s+(\w+)", text)
    assert labels
    for label in labels:
        assert prefixed(path, label)
        assert re.search(rf"\.hidden\s+{label}\b", text)


def test_every_room_has_a_prefix() -> None:
    """A new room is entered above."""
    assert {room.name for room in tree.rooms()} <= PREFIXES.keys()


def test_the_reading_finds_declarations() -> None:
    """The pattern sees prototypes that stand on one line and on several."""
    text = "int b_one(void);\nlong b_two(int a,\n           int b);\nstatic int no(void);\n"
    assert [found[1] for found in PROTOTYPE.finditer(text)] == ["b_one", "b_two"]
    assert [found[0] for found in VARIABLE.finditer("extern int a, *b;\n")] == ["extern int a, *b;"]
