"""The flags of pickling: per thread, and the default that a new thread starts with."""

import pytest

import loomlet.compat.stackless as stackless


def test_their_values():
    """Spec 2, PICKLEFLAGS: three bits."""
    assert stackless.PICKLEFLAGS_PRESERVE_TRACING_STATE == 1
    assert stackless.PICKLEFLAGS_PRESERVE_AG_FINALIZER == 2
    assert stackless.PICKLEFLAGS_RESET_AG_FINALIZER == 4


@pytest.mark.parametrize("name", ["pickle_flags", "pickle_flags_default"])
def test_they_are_set_and_asked(name):
    """Spec 2, pickle_flags: each call returns the old flags; -1 only asks."""
    flags = getattr(stackless, name)
    assert flags() == 0
    assert flags(1) == 0
    assert flags(-1) == 1
    assert flags(4) == 1
    assert flags(0) == 4
    assert flags() == 0


@pytest.mark.parametrize("name", ["pickle_flags", "pickle_flags_default"])
def test_a_mask_changes_some(name):
    """Spec 2, pickle_flags: new = (old & ~mask) | (new & mask)."""
    flags = getattr(stackless, name)
    flags(1)
    assert flags(2, 2) == 1
    assert flags(new=0, mask=1) == 3
    assert flags(0, -1) == 2
    assert flags() == 0


@pytest.mark.parametrize("name", ["pickle_flags", "pickle_flags_default"])
def test_undefined_flags(name, raises):
    """Spec 2, pickle_flags: a bit without a meaning is refused, and nothing changes."""
    flags = getattr(stackless, name)
    with raises(ValueError, "you must not set an undefined pickle-flag"):
        flags(1 << 10)
    assert flags() == 0


def test_a_new_thread_copies_the_default(thread):
    """Spec 2, pickle_flags_default: threads that are there keep what they have."""
    stackless.pickle_flags_default(2)
    try:
        assert thread(stackless.pickle_flags).result() == 2
        assert stackless.pickle_flags() == 0
    finally:
        stackless.pickle_flags_default(0)


def test_they_belong_to_the_thread(thread):
    """Spec 2, pickle_flags: a change is not seen by other threads."""
    stackless.pickle_flags(1)
    try:
        assert thread(stackless.pickle_flags).result() == 0
    finally:
        stackless.pickle_flags(0)
