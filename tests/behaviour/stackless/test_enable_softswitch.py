"""enable_softswitch() decides whether tasklets are switched softly where that is possible."""

import pytest

import loomlet.compat.stackless as stackless
from loomlet import _core


@pytest.fixture(autouse=True)
def softly():
    """Soft switching is on at first and restored afterwards."""
    before = stackless.enable_softswitch(True)
    yield
    stackless.enable_softswitch(before)


def test_it_returns_the_old_value():
    """Spec 2, enable_softswitch: a bool; None only asks."""
    if _core.SOFT_SUPPORTED:
        assert stackless.enable_softswitch(None) is True
    assert stackless.enable_softswitch(False) is bool(_core.SOFT_SUPPORTED)
    assert stackless.enable_softswitch(None) is False
    assert stackless.enable_softswitch(True) is False


def test_switched_off_tasklets_keep_their_c_stack():
    """Spec 2, enable_softswitch: the kept stacks show in getuncollectables()."""
    ch = stackless.channel()
    stackless.enable_softswitch(False)
    task = stackless.tasklet(ch.receive)()
    stackless.run()
    assert task in stackless.getuncollectables()
    ch.send(None)


def test_switched_off_none_is_soft(thread):
    """Spec 2, enable_softswitch: False means it, for all threads: none can be restored."""
    stackless.enable_softswitch(False)

    def look():
        task = stackless.tasklet(lambda: stackless.schedule_remove())()
        stackless.run()
        seen = (task.restorable, task.nesting_level > 0, task in stackless.getuncollectables())
        task.run()
        return seen

    assert look() == thread(look).result() == (False, True, True)


def test_switched_on_tasklets_have_none(soft):
    """Spec 2, enable_softswitch: a softly switched tasklet has no C stack to keep."""
    ch = stackless.channel()
    task = stackless.tasklet(lambda: ch.receive())()
    stackless.run()
    assert task not in stackless.getuncollectables()
    ch.send(None)
