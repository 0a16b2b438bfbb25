"""What an older version has frozen is thawed by this one, on the same CPython."""

from pathlib import Path

import keep
import old_functions
import pytest

import loomlet
from loomlet import _core

FILES = sorted(Path(__file__).parent.glob(f"*/{keep.BUILD}/*.frozen"))
pytestmark = pytest.mark.skipif(not _core.soft(), reason="nothing is soft here")


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.parent.name}-{file.stem}")
def test_it_goes_on(file):
    """From its wait to its end."""
    task = loomlet.thaw(file.read_bytes())
    for value in range(7, 20):
        if task.state != "blocked":
            break
        task.waiting_for.send(value)
        loomlet.schedule()
    assert task.result() == old_functions.EXPECTED[file.stem]


@pytest.mark.skipif(keep.BUILD == "cpython-3.11", reason="freezing needs 3.12")
def test_there_are_some():
    """This CPython was there when the format was made."""
    assert {file.stem for file in FILES} == set(old_functions.EXPECTED)
