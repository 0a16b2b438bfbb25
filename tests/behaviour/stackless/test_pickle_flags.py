"""The flags of pickling: per thread, and the default that a new thread starts with."""

import contextvars
import pickle
import sys

import pytest

import loomlet.compat.stackless as stackless
from loomlet import _core


def test_their_values():
    """Spec 2, PICKLEFLAGS: four bits."""
    assert stackless.PICKLEFLAGS_PRESERVE_TRACING_STATE == 1
    assert stackless.PICKLEFLAGS_PRESERVE_AG_FINALIZER == 2
    assert stackless.PICKLEFLAGS_RESET_AG_FINALIZER == 4
    assert stackless.PICKLEFLAGS_PICKLE_CONTEXT == 8


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


# ---- what they do


def through(value, flags):
    """There with these flags, and back."""
    stackless.pickle_flags(flags)
    try:
        return pickle.loads(pickle.dumps(value))
    finally:
        stackless.pickle_flags(0)


def traces(frame, event, arg):
    return None


def profiles(frame, event, arg):
    return None


def test_trace_functions():
    """Spec 2, PICKLEFLAGS: with bit 0 the trace and profile function of a tasklet come along."""
    task = stackless.tasklet(divmod, (17, 5))
    task.trace_function, task.profile_function = traces, profiles
    copy = through(task, 0)
    assert (copy.trace_function, copy.profile_function) == (None, None)
    copy = through(task, stackless.PICKLEFLAGS_PRESERVE_TRACING_STATE)
    assert (copy.trace_function, copy.profile_function) == (traces, profiles)


VARIABLE = contextvars.ContextVar("VARIABLE", default="of the loader")


def test_context_variables():
    """Spec 2, PICKLEFLAGS: with bit 3 the context comes along; else it is the loader's."""
    found = []
    task = stackless.tasklet(lambda: found.append(VARIABLE.get()))
    context = contextvars.Context()
    context.run(VARIABLE.set, "of the tasklet")
    task()
    task.remove()
    task.set_context(context)
    for flags in (0, stackless.PICKLEFLAGS_PICKLE_CONTEXT):
        copy = through(task, flags)
        copy.context_run(lambda: found.append(VARIABLE.get()))
    assert found == ["of the loader", "of the tasklet"]


async def counting():
    yield 1
    yield 2


def first_of(generator):
    with pytest.raises(StopIteration) as done:
        generator.__anext__().send(None)
    return done.value.value


begun = []


def begins(generator):
    begun.append(generator)


def ends(generator):
    """A finalizer."""


def of_the_loader(generator):
    """The finalizer of the thread that loads."""


@pytest.mark.parametrize("flags", [0, 2, 4])
def test_finalizers(flags):
    """Spec 2, PICKLEFLAGS: an async generator that has begun gets the finalizer of the thread that
    loads it; with bit 1 its own; with bit 2 the thread's hooks are called when it continues."""
    sys.set_asyncgen_hooks(firstiter=begins, finalizer=ends)
    try:
        generator = counting()
        assert first_of(generator) == 1
        begun.clear()
        sys.set_asyncgen_hooks(firstiter=begins, finalizer=of_the_loader)
        copy = through(generator, flags)
        assert first_of(copy) == 2
        expected = {0: of_the_loader, 2: ends, 4: of_the_loader}[flags]
        assert _core._generator_finalizer(copy) is expected
        assert begun == ([copy] if flags == 4 else [])
    finally:
        sys.set_asyncgen_hooks(None, None)
