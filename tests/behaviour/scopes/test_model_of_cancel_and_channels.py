"""Cancel against send, receive and select, in hundreds of orders: nothing is lost or leaks.

Each model is a handful of tasklets whose order is drawn anew for each seed; what must hold in every
order is asserted at its end.
"""

import pytest

import loomlet
from loomlet import Cancelled, CancelScope, Channel, TaskGroup, timeout
from loomlet.testing import explore

SEEDS = range(500)


def cancel_after(turns, *scopes):
    for _ in range(turns):
        loomlet.schedule()
    for scope in scopes:
        scope.cancel()


def is_free():
    """Behind its scope a tasklet is not cancelled."""
    loomlet.schedule()
    assert not loomlet.current()._cancelled
    assert loomlet.current()._scope is None


@pytest.mark.parametrize("capacity", [0, 1])
@pytest.mark.parametrize("turns", range(5))
def test_a_cancelled_sender_has_sent_or_has_not(turns, capacity):
    """send() returned: the value is received, once.  It raised Cancelled: it never is."""

    def model():
        ch, scopes, sent, refused = Channel(capacity), [CancelScope(), CancelScope()], [], []

        def sender(first, scope):
            with scope:
                for value in range(first, first + 3):
                    try:
                        ch.send(value)
                    except Cancelled:
                        refused.append(value)
                        raise
                    sent.append(value)
            is_free()

        def receiver():
            received.extend(ch)

        received = []
        reader = loomlet.spawn(receiver)
        senders = [loomlet.spawn(sender, 10 * n, scope) for n, scope in enumerate(scopes)]
        loomlet.spawn(cancel_after, turns, *scopes).join()
        for task in senders:
            task.join()
        ch.close()
        reader.join()
        assert sorted(received) == sorted(sent)
        assert not set(sent) & set(refused)
        for first in (0, 10):
            own = [value for value in received if first <= value < first + 3]
            assert own == sorted(own)

    explore(model, SEEDS)


@pytest.mark.parametrize("capacity", [0, 1])
@pytest.mark.parametrize("turns", range(5))
def test_a_cancelled_receiver_loses_no_value(turns, capacity):
    """Every value is received by a cancelled receiver before its cancel, or by the other one."""

    def model():
        ch, scopes, got, rest = Channel(capacity), [CancelScope(), CancelScope()], [], []

        def receiver(scope):
            with scope:
                for value in ch:
                    got.append(value)
            is_free()

        def sender():
            for value in range(6):
                ch.send(value)
            ch.close()

        first, second = (loomlet.spawn(receiver, scope) for scope in scopes)
        canceller = loomlet.spawn(cancel_after, turns, *scopes)
        other = loomlet.spawn(lambda: rest.extend(ch))
        loomlet.spawn(sender)
        for task in (canceller, first, second, other):
            task.join()
        assert sorted(got + rest) == list(range(6))

    explore(model, SEEDS)


@pytest.mark.parametrize("turns", range(5))
def test_a_cancelled_select_did_one_case_or_none(turns):
    """What a select reports has happened, what it does not report has not."""

    def model():
        inward, outward, scopes = Channel(), Channel(), [CancelScope()]
        got, gave, taken, rest = [], [], [], []

        def chooser():
            with scopes[0]:
                for value in range(4):
                    index, received = loomlet.select([inward, (outward, value)])
                    if index == 0:
                        got.append(received)
                    else:
                        gave.append(value)
            is_free()

        def feeder():
            for value in "abcd":
                inward.send(value)

        task = loomlet.spawn(chooser)
        taker = loomlet.spawn(lambda: taken.extend(outward))
        giver = loomlet.spawn(feeder)
        loomlet.spawn(cancel_after, turns, *scopes).join()
        task.join()
        outward.close()
        taker.join()
        while giver.state != "done":
            rest += [value for there, value in [inward.try_receive()] if there]
            loomlet.schedule()
        assert taken == gave
        assert "".join(got + rest) == "abcd"
        assert (inward.balance, outward.balance) == (0, 0)

    explore(model, SEEDS)


@pytest.mark.parametrize("turns", range(4))
def test_a_cancelled_join_touches_only_the_waiter(turns):
    """The other tasklet continues, and can be joined by others."""

    def model():
        gate, scopes, log = Channel(1), [CancelScope(), CancelScope()], []
        other = loomlet.spawn(gate.receive)

        def waiter(scope):
            with scope:
                log.append(other.result())
            is_free()

        waiters = [loomlet.spawn(waiter, scope) for scope in scopes]
        outside = loomlet.spawn(other.result)
        canceller = loomlet.spawn(cancel_after, turns, *scopes)
        opener = loomlet.spawn(gate.send, "result")
        for task in (*waiters, canceller, opener):
            task.join()
        assert outside.result() == "result"
        assert log == ["result"] * len(log)

    explore(model, SEEDS)


@pytest.mark.parametrize("turns", range(4))
def test_a_cancelled_lock_is_not_taken(turns):
    """A tasklet that was cancelled while it waited for the lock does not hold it."""

    def model():
        lock, scopes, log = loomlet.Lock(), [CancelScope()], []

        def holder(name):
            with lock:
                log.append(name)
                loomlet.schedule()

        def cancelled():
            with scopes[0]:
                holder("inside")
            is_free()

        tasks = [loomlet.spawn(holder, "a"), loomlet.spawn(cancelled), loomlet.spawn(holder, "b")]
        loomlet.spawn(cancel_after, turns, *scopes).join()
        for task in tasks:
            task.join()
        assert not lock.locked()
        assert {"a", "b"} <= set(log)

    explore(model, SEEDS)


def test_a_timeout_at_the_moment_of_the_value():
    """The value and the deadline come at the same time: it is delivered, or it is still there."""

    def model():
        ch, got, late = Channel(), [], []

        def sender(value):
            loomlet.sleep(5)
            ch.send(value)

        def receiver():
            try:
                with timeout(5):
                    got.append(ch.receive())
            except TimeoutError:
                late.append(1)
            is_free()

        receivers = [loomlet.spawn(receiver) for _ in range(2)]
        senders = [loomlet.spawn(sender, n) for n in range(2)]
        for task in receivers:
            task.join()
        assert len(got) + len(late) == 2
        left = [ch.receive() for _ in late]
        for task in senders:
            task.join()
        assert sorted(got + left) == [0, 1]
        assert ch.balance == 0

    explore(model, SEEDS)


def test_groups_of_cancelled_workers():
    """A pipeline in a group under a timeout: all tasklets end, and no value is lost."""

    def model():
        jobs, results, sent, done = Channel(), Channel(1), [], []

        def producer():
            for n in range(1000):
                loomlet.sleep(1)
                jobs.send(n)
                sent.append(n)

        def worker():
            for n in jobs:
                with CancelScope(shield=True):
                    loomlet.sleep(2)
                    results.send(n)

        def collector():
            done.extend(results)

        keeper = loomlet.spawn(collector)
        with pytest.raises(TimeoutError), timeout(9.5), TaskGroup() as group:
            group.spawn(producer)
            for _ in range(3):
                group.spawn(worker)
        results.close()
        keeper.join()
        assert sorted(done) == sent
        assert len(sent) == 9

    explore(model, SEEDS)
