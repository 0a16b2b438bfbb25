"""Moves between two threads under a third thread's collections lose nothing."""

import importlib.util
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parents[1] / "behaviour" / "threads"


def load():
    spec = importlib.util.spec_from_file_location(
        "moving", HERE / "test_a_suspended_tasklet_moves.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


moving = load()
FREE = not getattr(sys, "_is_gil_enabled", lambda: True)()


@pytest.mark.slow
@moving.soft_only
def test_a_million_moves():
    """A million moves without a GIL, a tenth of that with one."""
    rounds = 10_000 if FREE else 1_000
    done, moves = moving.journeys(100, rounds, collect=True)
    assert done == [rounds] * 100
    assert moves == 100 * rounds
