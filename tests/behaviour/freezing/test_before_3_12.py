"""Without soft switching only tasklets that have not begun can be frozen; errors say why."""

import pickle

import pytest
from helpers_frozen_tasklets import waiting

import loomlet
from loomlet import Channel, _core


def body(ch):
    return ch.receive()


@pytest.mark.skipif(_core.SOFT_SUPPORTED, reason="here they are frozen")
@pytest.mark.parametrize("save", [loomlet.freeze, loomlet.clone, pickle.dumps])
def test_a_waiting_tasklet(save):
    """The version that is needed is named, and the tasklet continues."""
    ch = Channel()
    task = waiting(body, ch)
    with pytest.raises(loomlet.FreezeError, match=r"freezing needs CPython 3\.12"):
        save(task)
    assert "freezing needs CPython 3.12" in loomlet.why_not_freezable(task)
    ch.send(5)
    assert task.result() == 5


def test_a_tasklet_that_has_not_begun():
    """Everywhere."""
    task = loomlet.spawn(divmod, 17, 5).remove()
    for copy in (
        loomlet.thaw(loomlet.freeze(task)),
        loomlet.clone(task),
        pickle.loads(pickle.dumps(task)),
    ):
        assert copy.insert().result() == (3, 2)
    task.kill()
