"""Waits without a value: events, semaphores, conditions, barriers."""

from collections.abc import Iterator

import pytest

from loomlet.testing import virtual_clock


@pytest.fixture
def virtual() -> Iterator[None]:
    """Time passes when all wait."""
    with virtual_clock():
        yield
