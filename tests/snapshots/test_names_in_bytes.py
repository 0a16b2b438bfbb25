"""Bytes name functions, classes and modules of loomlet; every name that they ever had is found."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path

import helpers_kept
import helpers_names
import pytest

import loomlet
from loomlet import _core, _old_names

HERE = Path(__file__).parent
LISTED = (HERE / "names.txt").read_text().splitlines()
PUBLIC = {
    "loomlet",
    "loomlet._core",
    "loomlet.aio",
    "loomlet.blocking",
    "loomlet.compat",
    "loomlet.compat.stackless",
    "loomlet.errors",
    "loomlet.net",
    "loomlet.observe",
    "loomlet.patch",
    "loomlet.snapshot",
    "loomlet.testing",
}
PRIVATE = {
    "loomlet._scopes": "the function that leaves a group, and the globals that it uses",
    "loomlet._sequence": "send_sequence(), which goes by value",
    "loomlet.snapshot._builders": "what is called while bytes are read",
    "loomlet.testing._sequencing": "the blocks of a Sequencer",
}
"""Private modules that today's bytes name.  To rename one, enter it in loomlet._old_names."""


def modules(names: Iterable[str]) -> set[str]:
    """The modules of "module name"."""
    return {name.partition(" ")[0] for name in names}


def test_the_names_in_the_bytes_are_listed() -> None:
    """names.txt holds every name of ours that stands in the kept bytes of any CPython."""
    found = {name for file in HERE.glob("*/*/*.*") for name in helpers_names.in_file(file)}
    assert sorted(found) == LISTED


@pytest.mark.parametrize("name", LISTED)
def test_every_listed_name_is_found(name: str) -> None:
    """A pickle that names it can be loaded."""
    assert helpers_names.found(name) is not None


def test_old_names_are_those_in_the_bytes() -> None:
    """The table holds what bytes name and is called otherwise today, and nothing else."""
    today = {Path(file) for file in Path(loomlet.__path__[0]).rglob("*.py")}
    root = Path(loomlet.__path__[0]).parent
    exists = {
        name
        for name in modules(LISTED)
        for stem in [root.joinpath(*name.split("."))]
        if stem.with_suffix(".py") in today or stem / "__init__.py" in today
    }
    assert modules(LISTED) - exists - {"loomlet._core"} == _old_names.MOVED.keys()


def test_an_old_name_is_the_module_of_today() -> None:
    """The same object, which keeps its own name."""
    for old, new in _old_names.MOVED.items():
        module = importlib.import_module(old)
        assert module is importlib.import_module(new)
        assert (module.__name__, module.__spec__ and module.__spec__.name) == (new, new)


def test_other_names_are_not_found() -> None:
    """The finder answers for the table only."""
    assert importlib.util.find_spec("loomlet.scope") is None
    with pytest.raises(ModuleNotFoundError, match=r"loomlet\.snapshot\.linked"):
        importlib.import_module("loomlet.snapshot.linked")


# What has been frozen is dropped where it waits.
@pytest.mark.filterwarnings("ignore:tasklet .* was collected while blocked:ResourceWarning")
@pytest.mark.skipif(not _core.soft(), reason="nothing is soft here")
def test_new_bytes_name_stable_places(tmp_path: Path) -> None:
    """Public modules, and few private ones."""
    found = set()
    for name, make in helpers_kept.everything():
        file = tmp_path / name
        file.write_bytes(make())
        found |= helpers_names.in_file(file)
    assert modules(found) <= PUBLIC | PRIVATE.keys()
    assert modules(found) >= PRIVATE.keys()
