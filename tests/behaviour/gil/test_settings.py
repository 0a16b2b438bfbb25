"""prioritise_io(), restore() and status()."""

import _socket
import select
import socket

import pytest

from loomlet import _core, gil

with_gil = pytest.mark.skipif(not _core._has_gil(), reason="there is no GIL to ask for")


def test_the_share_is_checked():
    """It is a part of the time; what was set stays."""
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="from 0 to 1"):
            gil.prioritise_io(share)
    for word in ("half", None, True):
        with pytest.raises(TypeError, match="expected share as a number from 0 to 1, found"):
            gil.prioritise_io(word)
    assert gil.status().modules == {}


@with_gil
def test_the_status_says_what_is_set():
    """The share, and the modules."""
    assert gil.status().share == 0.5
    gil.prioritise_io(0.25)
    status = gil.status()
    assert (status.has_gil, status.share) == (True, 0.25)
    assert {"_socket", "select"} <= status.modules.keys()
    assert "no" not in status.modules.values()
    gil.restore()
    assert (gil.status().share, gil.status().modules) == (0.5, {})


@with_gil
def test_restoring_undoes_any_number_of_calls():
    """Once is enough, and once more does no harm."""
    gil.prioritise_io(0.25)
    gil.prioritise_io(0.75)
    assert gil.status().share == 0.75
    gil.restore()
    gil.restore()
    assert gil.status().modules == {}


@with_gil
def test_as_many_words_are_restored_as_were_changed():
    """Word by word."""
    for module in (_socket, select):
        hooked = None if not hasattr(module, "__file__") else module
        changed = _core._gil_hooks(hooked, True)
        assert changed > 0
        assert _core._gil_hooks(hooked, False) == changed


@pytest.mark.skipif(_core._has_gil(), reason="there is a GIL")
def test_without_a_gil_nothing_is_done():
    """The call is checked, and changes nothing."""
    gil.prioritise_io(0.25)
    assert gil.status() == gil.GilStatus(False, 0.0, {}, 0, 0, 0.0)
    assert _core._gil_hooks(_socket, True) == 0
    gil.restore()
    with pytest.raises(ValueError, match="from 0 to 1"):
        gil.prioritise_io(2)


def test_errors_of_system_calls_are_kept(computing):
    """errno is that of the call, however the thread came to the GIL after it."""
    gil.prioritise_io()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    for _ in range(50):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
