"""A file of the tests is named by what it is; tests/README.md says what each folder proves."""

from __future__ import annotations

from pathlib import Path

import helpers_tree as tree

TESTS = tree.ROOT / "tests"
NAMED_IN_BYTES = "snapshots/old_"
"""Modules that kept bytes name."""
PROGRAMS = {
    "snapshots/keep.py",
    "structure/calls.py",
    "structure/homonyms.py",
    "structure/static_names.py",
    "structure/vocabulary.py",
}
"""What people run by hand, or have run."""
INPUTS = ("structure/walks/", "typing/accepted/", "typing/rejected/")
"""Programs that are not tests but what a test looks at."""


def has_fitting_name(path: Path) -> bool:
    """Test, conftest, helper, or one of the above."""
    name = path.relative_to(TESTS).as_posix()
    usual = path.name == "conftest.py" or path.name.startswith(("test_", "helpers_"))
    return usual or name in PROGRAMS or name.startswith((NAMED_IN_BYTES, *INPUTS))


def test_helpers_are_named_as_helpers() -> None:
    """A module that only tests import is called helpers_*.py."""
    found = [path for path in tree.python_files() if path.is_relative_to(TESTS)]
    tree.assert_none(
        [tree.name_of(path) for path in found if not has_fitting_name(path)],
        "neither a test nor conftest.py nor helpers_*.py",
    )


def test_names_of_helpers_are_unique() -> None:
    """The folders of tests are on one import path."""
    names = [path.name for path in TESTS.rglob("helpers_*.py")]
    tree.assert_none(
        sorted({name for name in names if names.count(name) > 1}), "helpers of the same name"
    )


def test_the_readme_names_every_folder() -> None:
    """The folders of tests/ and of tests/behaviour/."""
    text = (TESTS / "README.md").read_text()
    folders = {path.parent for path in tree.tracked() if path.is_relative_to(TESTS)}
    names = [
        path.relative_to(TESTS).as_posix()
        for path in sorted(folders)
        if path.parent in (TESTS, TESTS / "behaviour") and path != TESTS
    ]
    tree.assert_none(
        [name for name in names if f"`{name.removeprefix('behaviour/')}`" not in text],
        "folders that tests/README.md does not name",
    )
