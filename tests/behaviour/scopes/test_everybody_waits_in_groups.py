"""A program that is stuck inside a group says so."""

import pytest

import loomlet
from loomlet import Channel, Deadlock, TaskGroup


def test_deadlock_in_a_group_that_waits():
    """The main tasklet gets it as a failure of its body, children are ended, the text names all."""
    log = []

    def child():
        try:
            Channel(name="never sent").receive()
        finally:
            log.append("ended")

    with pytest.raises(ExceptionGroup) as info, TaskGroup() as group:
        group.spawn(child)
    Channel(name="never sent").close()
    (error,) = info.value.exceptions
    assert isinstance(error, Deadlock)
    assert "main: join <loomlet.TaskGroup entered: " in str(error)
    assert "receive <loomlet.Channel 'never sent'" in str(error)
    assert log == ["ended"]


def test_a_deadline_is_a_way_out(clock):
    """Nobody waits for ever while a timeout is on."""
    with pytest.raises(TimeoutError), loomlet.timeout(5), TaskGroup() as group:
        group.spawn(Channel().receive)
