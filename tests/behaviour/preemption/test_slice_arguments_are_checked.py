"""A slice is a positive time, or None."""

import pytest

import loomlet


@pytest.mark.parametrize("slice", [0, -1, 0.00009, float("inf"), float("nan")])
def test_a_wrong_time_is_a_value_error(slice):
    """The text says what was expected and found."""
    with pytest.raises(ValueError, match=r"at least 0\.0001 seconds, found"):
        loomlet.run(print, slice=slice)


@pytest.mark.parametrize("slice", ["1", True, object()])
def test_a_wrong_type_is_a_type_error(slice):
    """The text says what was expected and found."""
    with pytest.raises(TypeError, match="expected a slice in seconds or None, found"):
        loomlet.run(print, slice=slice)


def test_after_an_error_run_can_be_called():
    """Nothing is left half set up."""
    with pytest.raises(ValueError, match="slice"):
        loomlet.run(print, slice=0)
    assert loomlet.run(lambda: 5, slice=1) == 5
