"""The arrows point one way: in C between the rooms, in Python between the modules.

A room may include headers of the rooms below it and its own.  Rooms on one level do not know each
other.  An upward call is a callback handed down.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tree

C_LEVELS = (
    ("base",),
    ("plat",),
    ("heap",),
    ("cpython",),
    ("sched",),
    ("chan", "sync"),
    ("io",),
    ("bind",),
)
C_LEVEL = {room: level for level, names in enumerate(C_LEVELS) for room in names}
NO_PYTHON = {"base", "plat", "heap"}
NO_SYSTEM = {"base"}
INTERNALS = re.compile(
    r"\b(PY_VERSION_HEX|PY_M[AI][A-Z]+_VERSION|Py_BUILD_CORE\w*|_Py\w+|Py_GIL_\w+)"
)
VERSION_TESTS = {"layout.h", "cpython.h"}

# Modules by level; a name ending in "." stands for a whole package.  `loomlet` itself, the public
# face, lies between the modules that it is made of and those that are made with it.
PYTHON_LEVELS = (
    ("loomlet._core",),
    ("loomlet.errors",),
    (
        "loomlet._records",
        "loomlet._selftest",
        "loomlet._sequence",
        "loomlet._threads",
        "loomlet.blocking",
        "loomlet.scopes",
        "loomlet.serving",
        "loomlet.stall",
    ),
    ("loomlet.runtime",),
    ("loomlet.snapshot.", "loomlet.net.", "loomlet.aio.", "loomlet.patch"),
    ("loomlet._lazy",),
    ("loomlet",),
    ("loomlet.compat.",),
    ("loomlet.testing.", "loomlet.observe.", "loomlet.doctor."),
    ("loomlet.launch",),
    ("loomlet.bench.",),
    ("loomlet.__main__",),
)


def c_includes(path: Path) -> list[str]:
    """What a C file includes, as written between the quotes or brackets."""
    return re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', path.read_text(), re.MULTILINE)


@pytest.mark.parametrize("path", tree.c_files(), ids=tree.name_of)
def test_a_c_file_includes_only_what_lies_below(path: Path) -> None:
    """Own room or a lower one; another room's internal.h never."""
    room = path.parent.name
    for name in c_includes(path):
        other, _, header = name.partition("/")
        if other not in C_LEVEL or not header:
            continue
        assert (tree.CORE / name).is_file(), f"{name} does not exist"
        assert other == room or C_LEVEL[other] < C_LEVEL[room], f"{room} must not include {name}"
        assert other == room or header != "internal.h", f"{name} belongs to {other} alone"


def test_every_room_has_a_level_and_a_readme() -> None:
    """A new room is entered above, and says what it is for."""
    for room in tree.rooms():
        assert room.name in C_LEVEL
        assert (room / "README.md").is_file(), f"{room.name} has no README.md"


@pytest.mark.parametrize("room", tree.rooms(), ids=tree.name_of)
def test_a_readme_names_every_file_of_its_room(room: Path) -> None:
    """The table of a room is complete; the files of one minor version stand there as a group."""
    text = (room / "README.md").read_text()
    for path in room.glob("*.[chS]"):
        assert f"`{path.name}`" in text or re.match(r"py3\d\d", path.name), path.name
    for name in re.findall(r"`(\w+\.[chS])`", text):
        assert (room / name).is_file(), f"{name} is gone"


@pytest.mark.parametrize("path", tree.c_files(), ids=tree.name_of)
def test_python_is_known_only_where_it_may_be(path: Path) -> None:
    """The pure rooms include no Python; the internals of CPython stay in their room."""
    room, text = path.parent.name, tree.without_comments(path.read_text())
    if room in NO_PYTHON:
        assert not [name for name in c_includes(path) if name.lower().startswith("python")]
        assert not re.search(r"\bPy[A-Z_]\w*", text)
    if room != "cpython":
        assert not INTERNALS.findall(text)
        assert not [name for name in c_includes(path) if "pycore_" in name]


def test_version_tests_stand_in_few_files() -> None:
    """In the room: the file that picks the version file, and the contract.

    A file of one version may leave itself out as a whole on the others.
    """
    room = tree.CORE / "cpython"
    condition = re.compile(r"^\s*#\s*(el)?if\b.*PY_VERSION", re.MULTILINE)
    found = {path.name: condition.findall(path.read_text()) for path in room.glob("*.[ch]")}
    own = {name for name, tests in found.items() if re.match(r"py3\d\d", name) and len(tests) == 1}
    testing = {name for name, tests in found.items() if tests and name not in own}
    assert testing <= VERSION_TESTS


def test_the_base_asks_nothing_of_the_system() -> None:
    """No header of the operating system in the lowest room."""
    for room in NO_SYSTEM:
        for path in (tree.CORE / room).glob("*.[ch]"):
            assert not [n for n in c_includes(path) if n.startswith(("sys/", "linux/", "unistd"))]


def module_of(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = path.relative_to(tree.PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def python_modules() -> dict[str, Path]:
    """The modules of the package; the C module stands for its stub."""
    files = [*tree.PACKAGE.rglob("*.py"), *tree.PACKAGE.rglob("*.pyi")]
    return {module_of(path): path for path in files}


def unit(module: str) -> str:
    """The entry of PYTHON_LEVELS that a module belongs to."""
    top = ".".join(module.split(".")[:2])
    names = [name for level in PYTHON_LEVELS for name in level]
    return top if top in names else f"{top}."


def level_of(module: str) -> int:
    """How high a module stands; AssertionError for one that is not entered above."""
    name = unit(module)
    for level, names in enumerate(PYTHON_LEVELS):
        if name in names:
            return level
    raise AssertionError(f"{module} has no level: enter it in PYTHON_LEVELS")


def needed(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the package that a file imports; `from loomlet import run` needs loomlet."""
    found = set()
    for name, _ in tree.imports(path):
        prefixes = [name.rsplit(".", cut)[0] for cut in range(name.count(".") + 1)]
        found.update([module for module in prefixes if module in known][:1])
    return found


@pytest.mark.parametrize("module", sorted(python_modules()))
def test_a_module_imports_only_what_lies_below(module: str) -> None:
    """Lower levels, or the same package; imports inside functions and for types count too."""
    known = python_modules()
    for other in needed(known[module], known):
        below = level_of(other) < level_of(module)
        same = unit(other) == unit(module) and unit(module).endswith(".")
        assert below or same, f"{module} must not import {other}"


def test_no_modules_import_each_other() -> None:
    """No cycle anywhere, within a package neither."""
    known = python_modules()
    edges = {module: needed(path, known) - {module} for module, path in known.items()}
    while edges:
        leaves = {module for module, others in edges.items() if not others & edges.keys()}
        assert leaves, f"these import each other: {sorted(edges)}"
        edges = {module: others for module, others in edges.items() if module not in leaves}
