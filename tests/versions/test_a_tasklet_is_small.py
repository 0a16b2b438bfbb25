"""The fields of a tasklet are as many bytes as written here; a million tasklets pay for each."""

import sys
import sysconfig

import loomlet

BYTES = {(3, 11): 360, (3, 12): 360, (3, 13): 352, (3, 14): 352}
MORE_WITHOUT_GIL = 16


def test_no_field_was_added_unawares():
    """Whoever needs one looks for room among the others first, then writes the new size here."""
    without_gil = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    expected = BYTES[sys.version_info[:2]] + without_gil * MORE_WITHOUT_GIL
    assert loomlet.Tasklet.__basicsize__ <= expected
