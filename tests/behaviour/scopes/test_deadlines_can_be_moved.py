"""CancelScope.deadline: when a scope cancels itself."""

import threading

import pytest

import loomlet
from loomlet import CancelScope, WrongThread, timeout


def test_a_scope_with_a_deadline_cancels_itself(clock, mode):
    """Silently: only timeout() raises."""

    def worker():
        with CancelScope(deadline=5) as scope:
            loomlet.sleep(100)
        return scope.cancelled_caught, clock()

    assert loomlet.spawn(worker).result() == (True, 5.0)


def test_a_deadline_that_has_passed(clock):
    """The scope is cancelled as soon as it is entered."""
    loomlet.sleep(10)
    with CancelScope(deadline=5) as scope:
        assert scope.cancel_called
        loomlet.schedule()
    assert scope.cancelled_caught


def test_it_can_be_put_off(clock, mode):
    """A later deadline gives the block more time."""

    def worker():
        with pytest.raises(TimeoutError), timeout(5) as scope:
            loomlet.sleep(4)
            assert scope.deadline == 5.0
            scope.deadline += 5
            loomlet.sleep(4)
            loomlet.sleep(4)
        return clock()

    assert loomlet.spawn(worker).result() == 10.0


def test_it_can_be_brought_forward_by_another(clock, mode):
    """By any tasklet of the thread, while the block waits."""
    scope = timeout(100)

    def worker():
        with scope:
            loomlet.sleep(1000)

    task = loomlet.spawn(worker)
    loomlet.schedule()
    scope.deadline = 3
    with pytest.raises(TimeoutError):
        task.result()
    assert clock() == 3.0


def test_it_can_be_taken_away(clock):
    """None: the scope does not cancel itself any more."""
    with timeout(5) as scope:
        scope.deadline = None
        loomlet.sleep(100)
    assert scope.deadline is None
    assert not scope.cancel_called


def test_a_past_one_cancels_at_once(clock):
    """As entering with it does."""
    loomlet.sleep(10)
    with pytest.raises(TimeoutError), timeout(100) as scope:
        scope.deadline = 9
        assert scope.cancel_called
        loomlet.schedule()


def test_before_and_after_the_block(clock):
    """It can be set before; after the block it does nothing."""
    scope = CancelScope()
    scope.deadline = 5
    with scope:
        loomlet.sleep(100)
    assert scope.cancelled_caught
    other = CancelScope()
    with other:
        pass
    other.deadline = 0
    loomlet.sleep(1)
    assert not other.cancel_called


def test_the_thread_inside_sets_it():
    """Another thread's clock is another clock: it is refused there."""
    errors = []

    def elsewhere(scope):
        try:
            scope.deadline = 5
        except WrongThread as error:
            errors.append(error)

    with CancelScope() as scope:
        thread = threading.Thread(target=elsewhere, args=(scope,))
        thread.start()
        thread.join()
    assert len(errors) == 1


def test_the_timer_is_gone_with_the_block(clock):
    """A scope that was left costs nothing: the clock does not stop at its deadline."""
    with timeout(5):
        pass
    loomlet.sleep(0.5)
    loomlet.sleep(100)
    assert clock() == 100.5
