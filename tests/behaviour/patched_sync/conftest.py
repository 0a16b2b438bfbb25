"""What the tests of install(sync=True) share: it is installed for the time of a test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

import loomlet
from loomlet import _core, patch


@pytest.fixture(autouse=True)
def replaced() -> Iterator[None]:
    """The names of `threading` and `queue` are ours."""
    patch.install(sync=True)
    yield
    for tasklet in _core.tasklets()[1:]:
        with contextlib.suppress(loomlet.LoomletError):
            tasklet.kill()
    patch.uninstall()
