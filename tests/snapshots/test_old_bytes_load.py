"""Bytes that an older version has frozen or pickled are loaded by this one, on the same CPython."""

from __future__ import annotations

import pickle
from pathlib import Path

import helpers_kept
import old_functions
import pytest
from helpers_programs import FROZEN, KEY, PICKLED, end_all

import loomlet
from loomlet import _core

HERE = Path(__file__).parent
FILES = sorted(HERE.glob(f"*/{helpers_kept.BUILD}/*"))
pytestmark = pytest.mark.skipif(not _core.soft(), reason="nothing is soft here")


def shown(file: Path) -> str:
    return f"{file.parent.parent.name}-{file.name}"


def kept(suffix: str, names: object) -> list[Path]:
    """The files of one kind that belong to these programs."""
    return [file for file in FILES if file.suffix == suffix and file.stem.split(".")[0] in names]


@pytest.mark.parametrize("file", kept(".frozen", old_functions.EXPECTED), ids=shown)
def test_a_frozen_function_returns_what_it_would_have(file: Path) -> None:
    """From its wait to its end."""
    task = loomlet.thaw(file.read_bytes())
    for value in range(7, 20):
        if task.state != "blocked":
            break
        task.waiting_for.send(value)
        loomlet.schedule()
    assert task.result() == old_functions.EXPECTED[file.stem]


@pytest.mark.parametrize("file", kept(".frozen", FROZEN), ids=shown)
def test_a_frozen_program_continues(file: Path) -> None:
    """Scopes, groups, locks, handlers, iterators, functions: as on the day when it was frozen."""
    program = FROZEN[file.stem]
    key = KEY if "key" in program.options else None
    assert program.use(loomlet.thaw(file.read_bytes(), key=key)) == program.expected
    end_all()


@pytest.mark.parametrize("file", kept(".pickle", PICKLED), ids=shown)
def test_a_pickled_program_continues(file: Path) -> None:
    """Every pickler and protocol."""
    program = PICKLED[file.stem.split(".")[0]]
    assert program.use(pickle.loads(file.read_bytes())) == program.expected
    end_all()


@pytest.mark.skipif(helpers_kept.BUILD == "cpython-3.11", reason="freezing needs 3.12")
def test_every_program_has_bytes_of_this_cpython() -> None:
    """This CPython was there when the format was made."""
    assert {file.name for file in FILES} == {name for name, _ in helpers_kept.everything()}
