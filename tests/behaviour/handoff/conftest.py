"""What the tests of handoff share: they are skipped where it does not work."""

import os
import sys

import pytest

from loomlet import _core


@pytest.fixture(autouse=True)
def possible(monkeypatch):
    """A thread that is traced is not handed over: the tests are not, also not for coverage.

    Without a GIL it has to be asked for."""
    monkeypatch.setenv("LOOMLET_HANDOFF", "1")
    if not _core._can_hand_over():
        pytest.skip("handoff needs 3.12 or later")
    if "switch" in os.environ.get("LOOMLET_TORTURE", ""):
        pytest.skip("all tasklets keep a stack by turns here, and wait for who sits beside them")
    tracer = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(tracer)
