"""A call shows at a glance which room its body is in: one prefix per room.

Checked for what other files can see: functions and variables that are not static, what the headers
declare, and the labels of the assembler files.  Static functions have names of two words and more,
each in one file only, so that a backtrace says what they do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import helpers_tree as tree
import static_names

PREFIXES = {
    "base": ("b_", "track_"),
    "plat": ("p_",),
    "heap": ("h_",),
    "cpython": ("c_",),
    "sched": ("s_",),
    "chan": ("n_",),
    "sync": ("y_",),
    "debug": ("d_",),
    "http": ("t_",),
    "io": ("i_",),
    "serve": ("v_",),
    "patch": ("patch_",),
    "bind": ("bind_",),
}
# Names that CPython's headers prescribe.
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
    mine = name.startswith(PREFIXES[tree.room_of(path)])
    return mine or tree.in_core(path) in GIVEN.get(name, ())


def unfit(path: Path, names: Iterable[str]) -> list[str]:
    """Those of the names that do not fit."""
    return [f"{tree.in_core(path)}: {name}" for name in names if not prefixed(path, name)]


def test_functions_that_others_see_carry_the_prefix() -> None:
    """Definitions that are not static."""
    wrong = []
    for path in tree.c_files():
        wrong += unfit(path, [f.name for f in tree.c_functions(path) if not f.static])
    tree.assert_none(wrong, "functions without the prefix of their room")


def declared(path: Path) -> Iterator[str]:
    """The prototypes and `extern` variables of a header."""
    text = BODY.sub("", ATTRIBUTE.sub("", tree.code_of(path)))
    yield from (found[1] for found in PROTOTYPE.finditer(text))
    for found in VARIABLE.finditer(text):
        for part in found[0].split("[")[0].split(","):
            yield re.findall(r"\w+", part)[-1]


def test_declarations_carry_the_prefix() -> None:
    """What a header declares."""
    wrong = []
    for path in tree.c_files():
        wrong += unfit(path, declared(path) if path.suffix == ".h" else ())
    tree.assert_none(wrong, "declarations without the prefix of their room")


def test_labels_carry_the_prefix_and_are_hidden() -> None:
    """Each global label of an assembler file is ours, and no other library sees it."""
    wrong = []
    for path in tree.c_files():
        text = tree.text_of(path)
        labels = re.findall(r"\.globl\s+(\w+)", text)
        wrong += unfit(path, labels)
        for label in labels:
            if not re.search(rf"\.hidden\s+{label}\b", text):
                wrong.append(f"{tree.in_core(path)}: {label} is not hidden")
        if path.suffix == ".S" and not labels:
            wrong.append(f"{tree.in_core(path)} has no global label")
    tree.assert_none(wrong, "labels of assembler files")


def test_static_functions_have_names_that_say_something() -> None:
    """Two words and more, in one file only, but for the listed ones."""
    allowed = static_names.listed()
    tree.assert_none(
        [
            f"{name} in {', '.join(sorted(where))}"
            for name, where in sorted(static_names.poor(static_names.found()).items())
            if len(where) > allowed.get(name, 0)
        ],
        "static functions with a name of one word, or with one that stands in several files",
    )


def test_listed_static_functions_are_still_there() -> None:
    """The list only shrinks: a name that is gone, or fits now, is deleted from it."""
    poor = static_names.poor(static_names.found())
    tree.assert_none(
        [name for name in static_names.listed() if name not in poor],
        f"names to be deleted from {static_names.LIST.name}",
    )


def test_every_room_has_a_prefix() -> None:
    """A new room is entered above."""
    names = {room.name for room in tree.rooms()}
    tree.assert_none(sorted(names - PREFIXES.keys()), "rooms without a prefix in PREFIXES")


def test_the_reading_finds_declarations() -> None:
    """The pattern sees prototypes that stand on one line and on several."""
    text = "int b_one(void);\nlong b_two(int a,\n           int b);\nstatic int no(void);\n"
    assert [found[1] for found in PROTOTYPE.finditer(text)] == ["b_one", "b_two"]
    assert [found[0] for found in VARIABLE.finditer("extern int a, *b;\n")] == ["extern int a, *b;"]
