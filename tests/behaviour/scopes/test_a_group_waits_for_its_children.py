"""Leaving a TaskGroup waits until every child has ended."""

import pytest

import loomlet
from loomlet import CancelScope, Channel, TaskGroup, TaskletKilled


def test_all_children_have_ended(mode, clock):
    """Behind the block each child is done, whatever order they end in."""
    ended = []

    def child(n, seconds, *, factor):
        loomlet.sleep(seconds * factor)
        ended.append(n)
        return n

    with TaskGroup() as group:
        tasks = [group.spawn(child, n, s, factor=2) for n, s in enumerate([3, 1, 2])]
        assert ended == []
    assert ended == [1, 2, 0]
    assert [task.state for task in tasks] == ["done"] * 3
    assert [task.result() for task in tasks] == [0, 1, 2]
    assert clock() == 6.0


def test_an_empty_group_ends_at_once():
    """Without children nothing is waited for."""
    with TaskGroup():
        pass


def test_children_that_have_ended_already():
    """The block may see its children end; then leaving does not wait."""
    with TaskGroup() as group:
        task = group.spawn(lambda: "done")
        assert task.result() == "done"


def test_children_of_children(mode, clock):
    """Children may spawn through the group while it waits; those are waited for too."""
    ended = []

    def child(depth):
        loomlet.sleep(1)
        if depth:
            group.spawn(child, depth - 1)
            group.spawn(child, depth - 1)
        ended.append(depth)

    with TaskGroup() as group:
        group.spawn(child, 3)
    assert sorted(ended) == [0] * 8 + [1] * 4 + [2] * 2 + [3]
    assert clock() == 4.0


def test_groups_nest(mode, clock):
    """A child may open a group of its own; each group waits for its own children."""
    log = []

    def leaf(name, seconds):
        loomlet.sleep(seconds)
        log.append(name)

    def branch(name):
        with TaskGroup() as group:
            group.spawn(leaf, f"{name}1", 1)
            group.spawn(leaf, f"{name}2", 2)
        log.append(name)

    with TaskGroup() as group:
        group.spawn(branch, "a")
        group.spawn(branch, "b")
        log.append("body")
    assert log == ["body", "a1", "b1", "a2", "b2", "a", "b"]


def test_repr_names_the_children_waited_for():
    """A tasklet that waits for its children says so: state, waiting_in, waiting_for, repr."""
    ch = Channel()

    def worker():
        with TaskGroup() as group:
            group.spawn(ch.receive).name = "slow one"

    task = loomlet.spawn(worker)
    loomlet.schedule()
    loomlet.schedule()
    assert (task.state, task.waiting_in) == ("blocked", "join")
    assert type(task.waiting_for) is TaskGroup
    assert "slow one" in repr(task.waiting_for)
    ch.send(1)
    task.join()


def test_a_child_cancelled_or_killed_is_no_failure(mode):
    """A child that ends with TaskletExit or Cancelled ends quietly; the others continue."""
    ch, got = Channel(), []

    def cancelled():
        raise loomlet.Cancelled

    with TaskGroup() as group:
        waiting = group.spawn(Channel().receive)
        fresh = group.spawn(got.append, "never")
        group.spawn(cancelled)
        group.spawn(lambda: got.append(ch.receive()))
        fresh.kill()
        loomlet.schedule()
        waiting.kill()
        ch.send("value")
    assert got == ["value"]
    assert not group.cancel_called
    with pytest.raises(TaskletKilled):
        waiting.join()


def test_a_group_has_the_scope_of_a_block():
    """group.cancel() ends body and children silently; cancel_scope is that scope."""
    ended = []

    def child():
        try:
            Channel().receive()
        finally:
            ended.append("child")

    with TaskGroup() as group:
        group.spawn(child)
        loomlet.schedule()
        assert isinstance(group.cancel_scope, CancelScope)
        group.cancel_scope.cancel()
        loomlet.schedule()
        ended.append("never")
    assert ended == ["child"]
    assert group.cancelled_caught


def test_cancel_while_it_waits(mode):
    """A child may cancel the group that waits for it."""

    def child():
        group.cancel()
        Channel().receive()

    with TaskGroup() as group:
        group.spawn(child)
        group.spawn(Channel().receive)
    assert group.cancel_called


def test_a_group_can_have_a_deadline(clock):
    """As any scope."""
    with TaskGroup() as group:
        group.deadline = 5
        group.spawn(Channel().receive)
    assert group.cancel_called
    assert clock() == 5.0


def test_many_children_are_waited_for_with_one_wake(mode):
    """The tasklet that waits runs once, when the last child has ended."""
    order = []

    def worker():
        with TaskGroup() as group:
            for n in range(10):
                group.spawn(order.append, n)
        order.append("behind")

    task = loomlet.spawn(worker)
    loomlet.schedule()
    loomlet.schedule()
    assert order == [*range(10)]
    loomlet.schedule()
    assert order == [*range(10), "behind"]
    task.join()
