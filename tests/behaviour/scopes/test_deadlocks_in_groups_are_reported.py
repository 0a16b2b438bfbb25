"""A deadlock inside a group is reported."""

import inspect

import pytest

import loomlet
from loomlet import CancelScope, Channel, Deadlock, TaskGroup, schedule


def test_a_deadlock_leaves_the_group_alone():
    """The main tasklet gets it in no ExceptionGroup, children are ended, the text names all and
    the line of the `with`."""
    log = []

    def child():
        try:
            Channel(name="never sent").receive()
        finally:
            log.append("ended")

    here = inspect.currentframe().f_lineno + 1
    with pytest.raises(Deadlock) as info, TaskGroup() as group:
        group.spawn(child)
    Channel(name="never sent").close()
    lines = str(info.value).splitlines()
    assert lines[1].startswith("  main: join <loomlet.TaskGroup entered: ")
    assert f" at {__file__}:{here} in " in lines[1]
    assert "receive <loomlet.Channel 'never sent'" in lines[2]
    assert log == ["ended"]
    assert "clean-up" not in str(getattr(info.value, "__notes__", ""))


def test_it_leaves_all_groups_alone():
    """Through groups inside each other the same exception goes."""
    with pytest.raises(Deadlock) as info, TaskGroup(), TaskGroup() as inner:
        inner.spawn(Channel().receive)
    assert str(info.value).count("main: join") == 1
    assert loomlet.current()._scope is None


def test_failures_beside_it_are_reported(failures):
    """What the children raise while they are ended goes to the error handler."""

    def child():
        try:
            Channel().receive()
        finally:
            raise KeyError("clean-up")

    with pytest.raises(Deadlock), TaskGroup() as group:
        task = group.spawn(child)
    assert [(who, type(error)) for who, error in failures] == [(task, KeyError)]
    failures.clear()


def test_a_shield_does_not_keep_the_program_stuck():
    """What waits for ever behind a shield is cancelled all the same."""
    log = []

    def child():
        with CancelScope(shield=True):
            try:
                Channel().receive()
            except BaseException as error:
                log.append(type(error).__name__)
                raise

    with pytest.raises(Deadlock), TaskGroup() as group:
        task = group.spawn(child)
    assert (task.state, log) == ("done", ["Cancelled"])


def test_one_that_never_gives_up_is_left_behind():
    """A group ends even if a child waits again, for ever, whatever is raised in it."""
    gate = Channel()

    def child():
        with CancelScope(shield=True):
            while True:
                try:
                    return gate.receive()
                except BaseException:
                    pass

    with pytest.raises(Deadlock), TaskGroup() as group:
        task = group.spawn(child)
    assert (task.state, loomlet.current()._scope) == ("blocked", None)
    gate.send(1)
    assert task.result() == 1


def test_a_deadline_is_a_way_out(clock):
    """While a timeout is pending, a blocked group is no deadlock."""
    with pytest.raises(TimeoutError), loomlet.timeout(5), TaskGroup() as group:
        group.spawn(Channel().receive)


def test_the_repr_of_a_group_names_a_few_children():
    """The others are counted."""
    with TaskGroup() as group:
        for _ in range(100):
            group.spawn(schedule)
        assert repr(group).endswith(", and 94 more>")
