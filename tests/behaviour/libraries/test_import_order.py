"""Unmodified libraries in programs that patch before they import them, or after they used them."""

import pytest
import waiting

COUNT = 20


@pytest.mark.parametrize("library", waiting.LIBRARIES)
@pytest.mark.parametrize("order", ["first", "last"])
def test_all_wait_at_once(order, library, alone):
    """The server counts them, and lets them go when all wait."""
    pytest.importorskip(waiting.MODULES.get(library, library))
    assert alone(order, library, COUNT).startswith(f"all at once: {library}")
