"""The programs of walks/ run, and following them finds their files.

`python tests/structure/walks/walk.py` prints the figures of all.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import helpers_tree as tree
import pytest

WALKS = Path(__file__).with_name("walks")
sys.path.insert(0, str(WALKS))

import walk  # noqa: E402


@pytest.mark.parametrize("program", walk.programs())
def test_a_program_does_its_work(program: str) -> None:
    """Without a recorder, with the installed package."""
    subprocess.run([sys.executable, str(WALKS / f"{program}.py")], check=True, timeout=60)


@pytest.mark.slow
def test_a_walk_finds_the_files_of_a_channel() -> None:
    """From the call of the API down to the switch, in the files that implement it."""
    if (why := walk.lacking()) is not None:
        pytest.skip(why)
    trip = list(walk.steps("channel_value", tree.ROOT))
    names = [step.name for step in trip]
    assert names.index("n_receive") < names.index("s_suspend") < names.index("n_send")
    assert {step.file for step in trip} >= {"chan/channel.c", "sched/switch.c"}
    assert not walk.climbs(trip, walk.tables(tree.ROOT))


def test_climbs_and_rises_are_distinguished() -> None:
    """A call of a higher file, and a path that comes back up and goes down again."""
    tables = {"C_LEVELS": [["base"], ["sched"], ["chan"]], "PYTHON_LEVELS": [["loomlet"]]}
    trip = [
        walk.Step("chan/a.c", "n_a", None),
        walk.Step("base/b.h", "b_b", "chan/a.c"),
        walk.Step("sched/c.c", "s_c", "chan/a.c"),
        walk.Step("chan/d.c", "n_d", "sched/c.c"),
        walk.Step("chan/d.c", "n_e", "base/switch.S"),
        walk.Step("loomlet/__init__.py", "f", None),
    ]
    assert [step.name for step in walk.climbs(trip, tables)] == ["n_d"]
    assert walk.rises(trip, tables) == 3
