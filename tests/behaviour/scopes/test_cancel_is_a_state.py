"""Cancelling is level-triggered: it lasts until the scope is left."""

import pytest

import loomlet
from loomlet import Cancelled, CancelScope, Channel


def test_every_operation_raises_again(mode):
    """Code that swallows Cancelled meets it at each further operation that may block."""
    with CancelScope() as scope:
        scope.cancel()
        for operation in (
            loomlet.schedule,
            Channel(1).receive,
            lambda: Channel(1).send(1),
            lambda: loomlet.sleep(0),
            lambda: loomlet.select([Channel()], timeout=0),
            lambda: next(Channel()),
        ):
            with pytest.raises(Cancelled, match=r"the CancelScope opened at .* was cancelled"):
                operation()
    assert not scope.cancelled_caught


def test_the_end_of_the_scope_is_the_end_of_the_cancel():
    """Behind the scope everything works again."""
    with CancelScope() as scope:
        scope.cancel()
        loomlet.schedule()
    loomlet.schedule()
    ch = Channel(1)
    ch.send("value")
    assert ch.receive() == "value"
    assert scope.cancelled_caught


def test_code_that_never_waits_continues():
    """try_send, try_receive, close and spawn work in a cancelled scope."""
    ch = Channel(1)
    with CancelScope() as scope:
        scope.cancel()
        assert ch.try_send("value")
        assert ch.try_receive() == (True, "value")
        ch.close()
        task = loomlet.spawn(int)
    assert task.result() == 0
    assert not scope.cancelled_caught


def test_clean_up_cannot_wait_unless_shielded(mode):
    """A `finally` of a cancelled block may wait inside a shield only."""
    ch, log = Channel(), []

    def worker(scope):
        with scope:
            try:
                loomlet.sleep(100)
            finally:
                with CancelScope(shield=True):
                    ch.send("in the shield")
                log.append("sent")
                ch.send("outside of it")

    scope = CancelScope()
    task = loomlet.spawn(worker, scope)
    loomlet.schedule()
    scope.cancel()
    assert ch.receive() == "in the shield"
    task.join()
    assert log == ["sent"]
    assert scope.cancelled_caught


def test_cancelling_again_changes_nothing():
    """The second cancel() is no second exception."""
    scope, count = CancelScope(), 0
    with scope:
        scope.cancel()
        scope.cancel()
        try:
            loomlet.schedule()
        except Cancelled:
            count += 1
            raise
    scope.cancel()
    assert count == 1


def test_a_scope_cancelled_before_it_is_entered(mode):
    """Its block begins, and is cancelled at the first operation."""
    scope, log = CancelScope(), []
    scope.cancel()
    with scope:
        log.append("begins")
        loomlet.schedule()
        log.append("never")
    assert log == ["begins"]
    assert scope.cancelled_caught


def test_a_block_that_ends_by_itself_is_not_cancelled():
    """Without an operation that meets the cancel the block just ends."""
    with CancelScope() as scope:
        scope.cancel()
    assert scope.cancel_called
    assert not scope.cancelled_caught


def test_another_exception_is_not_replaced():
    """A scope catches Cancelled and nothing else."""
    with pytest.raises(KeyError), CancelScope() as scope:
        scope.cancel()
        raise KeyError("x")
    assert not scope.cancelled_caught


def test_a_cancelled_without_a_scope_passes():
    """A Cancelled that no scope has asked for is not caught."""
    with pytest.raises(Cancelled), CancelScope() as scope:
        raise Cancelled
    assert not scope.cancelled_caught
