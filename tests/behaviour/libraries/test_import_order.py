"""Unmodified libraries in programs that patch before they import them, or after they used them."""

import helpers_simultaneous_waits
import pytest

COUNT = 20


@pytest.mark.parametrize("library", helpers_simultaneous_waits.LIBRARIES)
@pytest.mark.parametrize("order", ["first", "last"])
def test_all_wait_at_once(order, library, alone):
    """The server counts them, and lets them go when all wait."""
    pytest.importorskip(helpers_simultaneous_waits.MODULES.get(library, library))
    assert alone(order, library, COUNT).startswith(f"all at once: {library}")
