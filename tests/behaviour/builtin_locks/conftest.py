"""The builtin locks are owned per tasklet, as after the first run() with time slices."""

import pytest

from loomlet import _core


@pytest.fixture(autouse=True, scope="session")
def _owned():
    """Made here, so that locks of the modules above are older than the replacement."""
    _core._patch_builtin_locks()
