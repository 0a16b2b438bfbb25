"""Freezing any value: as the local variable of a tasklet that waits."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import loomlet
from loomlet import Channel, _core

sys.path.insert(0, str(Path(__file__).parent))

import helpers_frozen_tasklets

if not _core.soft() or "switch" in os.environ.get("LOOMLET_TORTURE", ""):
    collect_ignore_glob = ["test_[!b]*.py"]


def pytest_collection_modifyitems(items):
    """Tests freeze a blocked tasklet and drop it; when it is collected depends on the version."""
    dropped = "ignore:tasklet .* was collected while blocked:ResourceWarning"
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings(dropped))


@pytest.fixture
def copied():
    """A value that went through frozen bytes."""

    def through(value, **options):
        task = helpers_frozen_tasklets.waiting(helpers_frozen_tasklets.keep, value, Channel())
        data = loomlet.freeze(task, **options)
        task.throw(loomlet.TaskletExit)
        return helpers_frozen_tasklets.resumed(loomlet.thaw(data))[0]

    return through
