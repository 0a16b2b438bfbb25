"""Each tasklet has its own handled exception."""

import sys

import pytest

import loomlet.compat.stackless as stackless


def test_a_new_tasklet_has_none(mode):
    """Spec 1, exception state: what the creator handles is not seen."""
    seen = []
    try:
        raise KeyError
    except KeyError:
        stackless.tasklet(lambda: seen.append(sys.exc_info()))().run()
        assert sys.exc_info()[0] is KeyError
    assert seen == [(None, None, None)]


def test_it_is_kept_over_a_switch(mode):
    """Spec 1, exception state: two tasklets that handle two exceptions do not mix them up."""
    seen = []

    def body(kind):
        try:
            raise kind
        except kind:
            stackless.schedule()
            seen.append((kind, sys.exc_info()[0]))
        seen.append((kind, sys.exc_info()[0]))

    for kind in (KeyError, OSError):
        stackless.tasklet(body)(kind)
    stackless.run()
    assert seen == [
        (KeyError, KeyError),
        (KeyError, None),
        (OSError, OSError),
        (OSError, None),
    ]
    assert sys.exc_info() == (None, None, None)


def test_a_bare_raise_sees_only_its_own(mode):
    """Spec 5, exceptions inside a tasklet: a bare raise sees no other tasklet's exception."""

    def body():
        raise  # noqa: PLE0704 - raising without an exception is the point

    try:
        raise KeyError
    except KeyError:
        stackless.tasklet(body)()
        with pytest.raises(RuntimeError, match="No active exception to reraise"):
            stackless.run()


def test_the_traceback_ends_at_the_first_frame(mode):
    """Spec 5, exceptions inside a tasklet: the frames of the switching tasklet are not in it."""
    caught = []

    def inner():
        raise KeyError

    def body():
        try:
            inner()
        except KeyError as error:
            caught.append(error)

    stackless.tasklet(body)()
    stackless.run()
    traceback, names = caught[0].__traceback__, []
    while traceback is not None:
        names.append(traceback.tb_frame.f_code.co_name)
        traceback = traceback.tb_next
    assert names == ["body", "inner"]
