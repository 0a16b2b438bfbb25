"""The arrows point one way: in C between the rooms, in Python between the modules.

A room may include headers of the rooms below it and its own.  Rooms on one level do not know each
other.  The same holds between the sub-rooms of a room: its own headers, and the C files with a
header of the same name, lie below them all, its other C files above them all.  An upward call is a
callback handed down.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import helpers_tree as tree
import pytest

C_LEVELS = (
    ("base",),
    ("plat", "http"),
    ("heap",),
    ("cpython",),
    ("sched",),
    ("chan", "sync", "debug"),
    ("io",),
    ("patch", "serve"),
    ("bind",),
)
# The sub-rooms of a room, by level like the rooms; those on one level do not know each other.
# "." are the room's own files, where they are not spread by the rule of folder_level.
SUB_LEVELS: dict[str, tuple[tuple[str, ...], ...]] = {
    "sched": ((".",), ("guests",)),
    "bind": (("native", "net", "debug"), ("stackless", "patch", "http"), ("snapshot",)),
}
C_LEVEL = {room: level for level, names in enumerate(C_LEVELS) for room in names}
SUB_LEVEL = {
    f"{room}/{name}": level
    for room, levels in SUB_LEVELS.items()
    for level, names in enumerate(levels)
    for name in names
}
NO_PYTHON = {"base", "plat", "http", "heap"}
NO_SYSTEM = {"base"}
# Files of other rooms that stand on the base alone, so that tests/core can compile them.
PROTOCOLS = {"sched/handoff.c", "sched/handoff.h"}
INTERNALS = re.compile(
    r"\b(PY_VERSION_HEX|PY_M[AI][A-Z]+_VERSION|Py_BUILD_CORE\w*|_Py\w+|Py_GIL_\w+)"
)
VERSION_TESTS = {"layout.h", "cpython.h"}
ONE_VERSION = re.compile(r"py3\d\d")

# Modules by level; a name ending in "." stands for a whole package.  `loomlet` itself, the public
# API, lies between the modules that it is made of and those that are made with it.
PYTHON_LEVELS = (
    (
        "loomlet._core_debug",
        "loomlet._core_heap",
        "loomlet._core_http",
        "loomlet._core_sync",
        "loomlet._core_threads",
    ),
    ("loomlet._after_import", "loomlet._alias", "loomlet._core", "loomlet._public"),
    ("loomlet._own_methods", "loomlet._pinned", "loomlet._waits"),
    ("loomlet.errors",),
    ("loomlet._program_end",),
    (
        "loomlet._conditions",
        "loomlet._debug.",
        "loomlet._greenlet_import",
        "loomlet._log_records",
        "loomlet._old_names",
        "loomlet._pseudo_threads",
        "loomlet._psycopg_wait",
        "loomlet._raise_in_thread",
        "loomlet._scopes",
        "loomlet._selftest",
        "loomlet._senders",
        "loomlet._sequence",
        "loomlet._tickers",
        "loomlet._yappi_contexts",
        "loomlet.blocking",
        "loomlet.heap",
        "loomlet.gil",
    ),
    ("loomlet._runtime", "loomlet._together"),
    ("loomlet.snapshot.", "loomlet.net.", "loomlet.aio.", "loomlet.sync."),
    ("loomlet.patch",),
    ("loomlet._lazy_names",),
    ("loomlet",),
    ("loomlet.compat.",),
    ("loomlet.testing.", "loomlet.observe.", "loomlet.doctor.", "loomlet.http."),
    ("loomlet._run_cli",),
    ("loomlet.bench.", "loomlet.http.gunicorn", "loomlet.serve."),
    ("loomlet.__main__",),
)
PYTHON_LEVEL = {name: level for level, names in enumerate(PYTHON_LEVELS) for name in names}
WHO_AM_I = {"sched/scheduler.c", "sched/scheduler.h", "sched/types.h"}


def c_includes(path: Path) -> list[str]:
    """What a C file includes, as written between the quotes or brackets."""
    return re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', tree.text_of(path), re.MULTILINE)


def folder_level(folder: str, path: str) -> int:
    """How high a file stands among the sub-rooms of its room."""
    if "/" in folder or f"{folder}/." in SUB_LEVEL:
        return SUB_LEVEL[folder if "/" in folder else f"{folder}/."]
    shared = path.endswith(".h") or (tree.CORE / path).with_suffix(".h").is_file()
    return -1 if shared else len(SUB_LEVEL)


def may_include(path: str, header: str) -> bool:
    """Own folder or a lower one; never another folder's internal.h, except that of the room."""
    folder, other = (name.rpartition("/")[0] for name in (path, header))
    room, other_room = folder.partition("/")[0], other.partition("/")[0]
    if header.endswith("/internal.h") and other not in (folder, room):
        return False
    if other_room != room:
        return C_LEVEL[other_room] < C_LEVEL[room]
    return other == folder or folder_level(other, header) < folder_level(folder, path)


def test_a_c_file_includes_only_what_lies_below() -> None:
    """Between rooms and between sub-rooms; every included file exists."""
    wrong = []
    for path in tree.c_files():
        for header in c_includes(path):
            if header.partition("/")[0] not in C_LEVEL or "/" not in header:
                continue
            if not (tree.CORE / header).is_file():
                wrong.append(f"{tree.in_core(path)}: {header} does not exist")
            elif not may_include(tree.in_core(path), header):
                wrong.append(f"{tree.in_core(path)}: {header}")
    tree.assert_none(wrong, "a C file includes what lies above or beside it, or is private")


def test_the_rule_of_includes_sees_arrows_back_up() -> None:
    """Rooms, private headers, and a room's own files, which need no table."""
    assert may_include("sched/switch.c", "cpython/cpython.h")
    assert may_include("sched/switch.c", "sched/internal.h")
    assert not may_include("cpython/frames.c", "sched/sched.h")
    assert not may_include("chan/channel.c", "sync/sync.h")
    assert not may_include("chan/channel.c", "sched/internal.h")


def test_the_rule_of_includes_sees_sub_rooms(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a table of two: upwards and sideways is forbidden, the room's own headers are not."""
    levels = {"bind/low": 0, "bind/left": 1, "bind/right": 1}
    monkeypatch.setitem(globals(), "SUB_LEVEL", levels)
    for path, header in (
        ("bind/left/a.c", "bind/low/low.h"),
        ("bind/left/a.c", "bind/bind.h"),
        ("bind/low/a.h", "bind/internal.h"),
        ("bind/module.c", "bind/right/right.h"),
    ):
        assert may_include(path, header), (path, header)
    for path, header in (
        ("bind/low/a.c", "bind/left/left.h"),
        ("bind/left/a.c", "bind/right/right.h"),
        ("bind/bind.h", "bind/low/low.h"),
        ("bind/errors.c", "bind/low/low.h"),
        ("bind/left/a.c", "bind/low/internal.h"),
        ("bind/module.c", "bind/low/internal.h"),
        ("sched/a.c", "bind/low/low.h"),
    ):
        assert not may_include(path, header), (path, header)


def test_every_room_has_a_level() -> None:
    """A new room is entered above, and so is a new sub-room."""
    known = C_LEVEL.keys() | SUB_LEVEL.keys()
    tree.assert_none(
        [name for name in map(tree.in_core, tree.folders()) if name not in known],
        "rooms without a level: enter them in C_LEVELS or SUB_LEVELS",
    )


def readme_faults(folder: Path) -> Iterator[str]:
    """Files that the README of a room or sub-room lacks, or names although they are gone."""
    readme = folder / "README.md"
    if not readme.is_file():
        yield f"{tree.name_of(folder)} has no README.md"
        return
    text = tree.text_of(readme)
    for path in folder.glob("*.[chS]"):
        if f"`{path.name}`" not in text and not ONE_VERSION.match(path.name):
            yield f"{tree.name_of(readme)} lacks {path.name}"
    for path in folder.iterdir():
        if path.is_dir() and f"`{path.name}/`" not in text:
            yield f"{tree.name_of(readme)} lacks {path.name}/"
    for name in re.findall(r"`(\w+(?:\.[chS]|/))`", text):
        if not (folder / name).exists():
            yield f"{tree.name_of(readme)} names {name}, which is gone"


def test_a_readme_names_every_file_of_its_room() -> None:
    """And every sub-room; the files of one minor version are listed as a group."""
    faults = [fault for folder in tree.folders() for fault in readme_faults(folder)]
    tree.assert_none(faults, "the table of a room is not complete")


def test_the_pure_rooms_know_no_python() -> None:
    """No header and no name of it."""
    wrong = []
    for path in tree.c_files():
        if tree.room_of(path) in NO_PYTHON:
            found = [name for name in c_includes(path) if name.lower().startswith("python")]
            found += re.findall(r"\bPy[A-Z_]\w*", tree.code_of(path))
            wrong += [f"{tree.in_core(path)}: {name}" for name in found]
    tree.assert_none(wrong, "Python in a pure room")


def test_a_protocol_stands_on_the_base_alone() -> None:
    """And on its own header."""
    wrong = []
    for path in tree.c_files():
        if tree.in_core(path) in PROTOCOLS:
            found = [n for n in c_includes(path) if "/" in n and not n.startswith("base/")]
            found += re.findall(r"\bPy[A-Z_]\w*", tree.code_of(path))
            wrong += [f"{tree.in_core(path)}: {n}" for n in found if n not in PROTOCOLS]
    tree.assert_none(wrong, "a protocol knows more than the base")


def test_few_functions_know_which_scheduler_a_thread_has() -> None:
    """All others ask it: the answer may have to wait until the scheduler comes back."""
    wrong = []
    for path in tree.c_files():
        if tree.in_core(path) not in WHO_AM_I:
            wrong += [tree.in_core(path) for _ in re.finditer(r"\bs_self_\b", tree.code_of(path))]
    tree.assert_none(wrong, "the thread-local pointer is read elsewhere too")


def test_the_internals_of_cpython_stay_in_their_room() -> None:
    """Neither names of its own headers nor tests of its version are seen outside."""
    wrong = []
    for path in tree.c_files():
        if tree.room_of(path) != "cpython":
            found = INTERNALS.findall(tree.code_of(path))
            found += [name for name in c_includes(path) if "pycore_" in name]
            wrong += [f"{tree.in_core(path)}: {name}" for name in found]
    tree.assert_none(wrong, "internals of CPython outside of its room")


def test_a_list_is_made_empty() -> None:
    """Rule 21 of the room cpython: PyList_New(n) is not safe when memory runs out.

    Neither is what calls it.
    """
    tree.assert_none(
        [
            f"{tree.in_core(path)}: {found}"
            for path in tree.c_files()
            for found in re.findall(
                r"PyList_New\((?!0\)).*|PyDict_(?:Keys|Values|Items)\(.*", tree.code_of(path)
            )
        ],
        "a list is not made empty",
    )


def test_version_tests_stand_in_few_files() -> None:
    """In the room: the file that picks the version file, and the contract.

    A file of one version may leave itself out as a whole on the others.
    """
    condition = re.compile(r"^\s*#\s*(?:el)?if\b.*PY_VERSION.*", re.MULTILINE)
    wrong = []
    for path in tree.c_files():
        found = condition.findall(tree.text_of(path))
        own = ONE_VERSION.match(path.name) and len(found) == 1
        if path.name not in VERSION_TESTS and not own:
            wrong += [f"{tree.in_core(path)}: {line}" for line in found]
    tree.assert_none(wrong, "tests of the version outside of the version files")


def test_the_base_asks_nothing_of_the_system() -> None:
    """No header of the operating system in the lowest room."""
    system = ("sys/", "linux/", "unistd")
    tree.assert_none(
        [
            f"{tree.in_core(path)}: {name}"
            for path in tree.c_files()
            if tree.room_of(path) in NO_SYSTEM
            for name in c_includes(path)
            if name.startswith(system)
        ],
        "the lowest room includes headers of the system",
    )


def module_of(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = path.relative_to(tree.PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def python_modules() -> dict[str, Path]:
    """The modules of the package; the C module stands for its stub."""
    files = [*tree.PACKAGE.rglob("*.py"), *tree.PACKAGE.rglob("*.pyi")]
    return {module_of(path): path for path in files}


def unit(module: str) -> str:
    """The entry of PYTHON_LEVELS that a module belongs to."""
    top = module if module in PYTHON_LEVEL else ".".join(module.split(".")[:2])
    return top if top in PYTHON_LEVEL else f"{top}."


def lies_below(other: str, module: str) -> bool:
    """Whether one module may be imported by another; the same package is as good as below."""
    mine, its = unit(module), unit(other)
    return PYTHON_LEVEL[its] < PYTHON_LEVEL[mine] or (its == mine and mine.endswith("."))


def shows_its_own(path: Path, node: ast.stmt) -> bool:
    """Whether the package imports a name from itself under the same name."""
    return (
        path == tree.PACKAGE / "__init__.py"
        and isinstance(node, ast.ImportFrom)
        and node.module == tree.PACKAGE.name
        and all(alias.asname == alias.name for alias in node.names)
    )


@cache
def needed(path: Path) -> set[str]:
    """The modules of the package that a file imports; `from loomlet import run` needs loomlet.

    With `from loomlet import net as net` the package shows a type checker what it has; that is no
    arrow.
    """
    known, found = python_modules(), set[str]()
    for name, node in tree.imports(path):
        if shows_its_own(path, node):
            continue
        prefixes = [name.rsplit(".", cut)[0] for cut in range(name.count(".") + 1)]
        found.update([module for module in prefixes if module in known][:1])
    return found


def test_every_module_has_a_level() -> None:
    """A new module or package is entered above."""
    tree.assert_none(
        [name for name in sorted(python_modules()) if unit(name) not in PYTHON_LEVEL],
        "modules without a level: enter them in PYTHON_LEVELS",
    )


def test_a_module_imports_only_what_lies_below() -> None:
    """Lower levels, or the same package; imports inside functions and for types count too."""
    tree.assert_none(
        [
            f"{module} imports {other}"
            for module, path in sorted(python_modules().items())
            for other in sorted(needed(path))
            if unit(module) in PYTHON_LEVEL and not lies_below(other, module)
        ],
        "a module imports what lies above or beside it",
    )


def test_no_modules_import_each_other() -> None:
    """No cycle anywhere, not even within a package."""
    edges = {module: needed(path) - {module} for module, path in python_modules().items()}
    while edges:
        leaves = {module for module, others in edges.items() if not others & edges.keys()}
        assert leaves, f"these import each other: {sorted(edges)}"
        edges = {module: others for module, others in edges.items() if module not in leaves}
