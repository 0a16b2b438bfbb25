"""A scope is entered once, and left by the tasklet that entered it, in reverse order."""

import pytest

import loomlet
from loomlet import CancelScope, Channel, ScopeError, TaskGroup, timeout

MAKERS = [CancelScope, lambda: timeout(5), TaskGroup]


@pytest.mark.parametrize("make", MAKERS)
def test_entering_twice(make):
    """Nested or one after the other: a new scope for each `with`."""
    scope = make()
    with scope:
        with pytest.raises(ScopeError, match=r"was entered before; make a new one"):
            scope.__enter__()
        loomlet.schedule()
    with pytest.raises(ScopeError, match="was entered before"):
        scope.__enter__()


@pytest.mark.parametrize("make", MAKERS)
def test_leaving_a_scope_that_was_not_entered(make):
    """It is no scope of the running tasklet."""
    with pytest.raises(ScopeError, match="is not the innermost scope"):
        make().__exit__(None, None, None)


@pytest.mark.parametrize("inner", MAKERS)
@pytest.mark.parametrize("outer", MAKERS)
def test_leaving_in_the_wrong_order(outer, inner, clock):
    """A generator suspended in its `with`: leaving the outer scope reports it and leaves both."""

    def suspended():
        with inner():
            yield

    generator = suspended()
    with pytest.raises(ScopeError, match="do not `yield` inside one"), outer() as scope:
        next(generator)
        scope.cancel()
    loomlet.schedule()
    generator.close()
    loomlet.schedule()
    assert loomlet.current()._scope is None


def test_children_of_a_group_that_was_abandoned():
    """They are cancelled with it, and its own end still waits for them."""
    log = []

    def child():
        try:
            Channel().receive()
        finally:
            log.append("ended")

    def suspended():
        with TaskGroup() as group:
            group.spawn(child)
            yield
        log.append("group left")

    generator = suspended()
    with pytest.raises(ScopeError), CancelScope():
        next(generator)
        loomlet.schedule()
    with pytest.raises(StopIteration):
        next(generator)
    assert log == ["ended", "group left"]


def test_leaving_in_another_tasklet():
    """The scope stays with the tasklet that entered it."""

    def suspended():
        with CancelScope() as scope:
            yield scope

    generator = suspended()
    scope = next(generator)
    task = loomlet.spawn(lambda: list(generator))
    with pytest.raises(ScopeError, match="is not the innermost scope"):
        task.join()
    assert loomlet.current()._scope is scope
    scope.__exit__(None, None, None)


def test_a_generator_that_is_closed_leaves_its_scopes(clock):
    """GeneratorExit passes through scopes and groups."""
    log = []

    def source():
        with timeout(5), TaskGroup() as group:
            group.spawn(Channel().receive)
            try:
                yield 1
            finally:
                log.append("closed")

    generator = source()
    assert next(generator) == 1
    generator.close()
    loomlet.sleep(10)
    assert log == ["closed"]


def test_in_a_callback_of_the_scheduler(clock):
    """A scope works there; a group that would have to wait reports it and cancels its children."""
    errors, log = [], []

    def child():
        try:
            loomlet.schedule()
        finally:
            log.append("ended")

    def callback():
        with timeout(5):
            pass
        try:
            with TaskGroup() as group:
                group.spawn(child)
        except loomlet.SwitchTrapped as error:
            errors.append(error)

    timer = loomlet._core.Timer(callback)
    timer.arm(1.0)
    loomlet.sleep(2)
    assert len(errors) == 1
    assert log == ["ended"]


def test_the_repr_shows_the_state():
    """Not entered, entered, left; and whether it was cancelled."""
    scope = CancelScope()
    assert repr(scope) == "<loomlet.CancelScope not entered>"
    with scope:
        assert repr(scope) == "<loomlet.CancelScope entered>"
        scope.cancel()
    assert repr(scope) == "<loomlet.CancelScope left, cancelled>"
    assert repr(timeout(5)) == "<loomlet.timeout not entered>"
    assert repr(TaskGroup()) == "<loomlet.TaskGroup not entered>"
