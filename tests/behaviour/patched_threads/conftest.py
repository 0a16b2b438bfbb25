"""What the tests of threads that are tasklets share: it is patched, and no thread is left."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import pytest

import loomlet
from loomlet import _core, patch


@pytest.fixture(autouse=True)
def patched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads are tasklets for the time of a test, which leaves none behind."""
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)  # not that of pytest
    patch.install(threads=True)
    before = threading.enumerate()
    yield
    for tasklet in _core.tasklets()[1:]:
        with contextlib.suppress(loomlet.LoomletError):
            tasklet.kill()
    patch.uninstall()
    assert threading.enumerate() == before
    assert _core._threads() == []
