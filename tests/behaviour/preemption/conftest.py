"""What the tests of preemption share: loops that end only when another tasklet has run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import loomlet
from loomlet import _core

PATIENCE = 60


@pytest.fixture
def until() -> Callable[[Callable[[], object]], bool]:
    """Spins in pure Python until a condition holds: True; False when it never did."""

    def spin(condition: Callable[[], object]) -> bool:
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                return False
        return True

    return spin


@pytest.fixture
def every_safepoint() -> Callable[..., Any]:
    """run(main, safepoints=1): as loomlet.run, with slices counted in safepoints, not in time."""

    def run(main: Callable[[], Any], safepoints: int = 1) -> Any:
        def counted() -> Any:
            _core._slice_budget(safepoints)
            return main()

        return loomlet.run(counted, slice=None)

    return run
