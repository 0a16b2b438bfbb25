"""Cancel scopes, timeouts and groups."""

from typing import assert_type

from loomlet import Cancelled, CancelScope, ScopeError, TaskGroup, Tasklet, sleep, timeout


def add(one: int, other: int = 0) -> int:
    """The function that is spawned here."""
    return one + other


def cancelling() -> None:
    """A scope with its deadline, its shield and its outcome."""
    with CancelScope(deadline=3.5, shield=True) as scope:
        assert_type(scope, CancelScope)
        scope.deadline = None
        scope.shield = False
        scope.cancel()
    assert_type(scope.deadline, float | None)
    assert_type(scope.cancel_called, bool)
    assert_type(scope.cancelled_caught, bool)


def after_a_scope() -> str:
    """A scope may swallow Cancelled, so the code after it can be reached."""
    with CancelScope():
        sleep(1)
        return "slept"
    return "cancelled"


def timing() -> None:
    """A timeout is a scope."""
    with timeout(2) as limit:
        assert_type(limit, timeout)
    with timeout(None):
        pass
    scope: CancelScope = limit
    scope.cancel()


def grouping() -> None:
    """A group makes children and is a scope."""
    with TaskGroup() as group:
        assert_type(group, TaskGroup)
        assert_type(group.spawn(add, 1, other=2), Tasklet[int])
        assert_type(group.cancel_scope, CancelScope)
        group.cancel()
    scope: CancelScope = group
    print(scope.cancelled_caught)


def errors() -> None:
    """Cancelled is no Exception; the misuse of a scope is one."""
    try:
        sleep(1)
    except ScopeError as misuse:
        assert_type(misuse, ScopeError)
        raise
    except Cancelled as cancelled:
        assert_type(cancelled, Cancelled)
        raise
