"""What the stress tests share: a clean scheduler around each, and numbers of rounds by size.

LOOMLET_STRESS=n multiplies the work of the soaks (default 1).  LOOMLET_SEED=n runs a soak with
that seed only.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterator

import pytest

import loomlet
from loomlet import _core

SCALE = float(os.environ.get("LOOMLET_STRESS", "1"))
SEEDS = [int(os.environ["LOOMLET_SEED"])] if "LOOMLET_SEED" in os.environ else [1, 2, 3, 4]


@pytest.fixture
def scaled() -> Callable[[int], int]:
    """Multiplies a number of rounds by LOOMLET_STRESS."""
    return lambda rounds: max(1, int(rounds * SCALE))


@pytest.fixture(params=SEEDS)
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of a random soak; a failure is repeated with it."""
    return request.param


@pytest.fixture(params=["soft", "hard"] if _core.soft() else ["hard"])
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the test with soft switching where it is possible, and without."""
    before = _core.soft()
    _core.soft(request.param == "soft")
    yield request.param
    _core.soft(before)


@pytest.fixture(autouse=True)
def scheduler() -> Iterator[None]:
    """No warnings of collected tasklets; nothing is left behind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        for tasklet in _core.tasklets()[1:]:
            with contextlib.suppress(loomlet.LoomletError):
                tasklet.kill()
        gc.collect()


@pytest.fixture
def memory() -> Callable[[], tuple[int, int]]:
    """(objects, blocks) in use after everything unreachable was freed."""

    def measure() -> tuple[int, int]:
        for _ in range(3):
            loomlet.schedule()
            gc.collect()
        return len(gc.get_objects()), sys.getallocatedblocks()

    return measure
