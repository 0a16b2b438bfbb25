"""Random trees of groups, failures, cancels and kills, in hundreds of run orders.

What must hold whatever the order: no child outlives its group, every failure comes out exactly once
(raised, or with the error handler where it cannot be raised), no tasklet is cancelled from
outside its scope.
"""

import random

import pytest

import loomlet
from loomlet import Cancelled, CancelScope, Channel, TaskGroup, TaskletKilled, timeout
from loomlet.testing import explore

SEEDS = range(2000)


class Failure(Exception):
    pass


class Tree:
    """One random program: tasklets, the groups they open, and their outcomes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.alive = set()
        self.raised = []
        self.scopes = []

    def work(self):
        """A few waits of different kinds."""
        for _ in range(self.random.randrange(3)):
            kind = self.random.randrange(4)
            if kind == 0:
                loomlet.schedule()
            elif kind == 1:
                loomlet.sleep(self.random.randrange(1, 5))
            elif kind == 2:
                with CancelScope(shield=True):
                    loomlet.sleep(1)
            else:
                self.disturb()

    def disturb(self):
        """Cancels a scope or fails."""
        if self.random.random() < 0.5 and self.scopes:
            self.random.choice(self.scopes).cancel()
        elif self.random.random() < 0.3:
            error = Failure(len(self.raised))
            self.raised.append(error)
            raise error

    def node(self, depth):
        """A tasklet: works, perhaps inside a scope, perhaps with children."""
        me = loomlet.current()
        self.alive.add(me)
        before = (me._scope, me._cancelled)
        try:
            with self.random.choice([CancelScope, CancelScope, lambda: timeout(7)])() as scope:
                self.scopes.append(scope)
                self.branch(depth)
        except TimeoutError:
            assert scope.deadline <= loomlet.now()
        finally:
            assert me._scope is before[0]
            self.alive.discard(me)
        if self.random.random() < 0.2:
            Channel(1).send("may be cancelled")

    def branch(self, depth):
        self.work()
        if depth == 0:
            return
        children = []
        try:
            with TaskGroup() as group:
                for _ in range(self.random.randrange(4)):
                    try:
                        children.append(group.spawn(self.node, depth - 1))
                    except loomlet.ScopeError:
                        assert group.cancel_called
                    self.work()
                if children and self.random.random() < 0.2:
                    self.random.choice(children).kill()
        finally:
            assert all(child.state == "done" for child in children)
            assert not self.alive & set(children)


def leaves(error):
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in leaves(inner)]
    return [error]


def test_trees(failures):
    """Each seed is another program in another order."""
    seed, raised = iter(SEEDS), []

    def model():
        tree = Tree(next(seed))
        came_out = []
        try:
            tree.node(3)
        except (Failure, ExceptionGroup) as error:
            came_out = leaves(error)
        reported = [leaf for _, error in failures for leaf in leaves(error)]
        failures.clear()
        assert tree.alive == set()
        assert not loomlet.current()._cancelled
        assert len(loomlet._core.tasklets()) == 1
        assert {id(e) for e in came_out + reported} == {id(e) for e in tree.raised}
        assert len(came_out) + len(reported) == len(tree.raised)
        raised.extend(tree.raised)

    explore(model, SEEDS)
    assert len(raised) > len(SEEDS) / 10


@pytest.mark.parametrize("turns", range(8))
def test_a_kill_at_any_moment(turns):
    """The tasklet that has the group is killed: its children end, and it with TaskletExit."""

    def model():
        begun, ended = [], []

        def child(n):
            begun.append(n)
            try:
                for _ in range(n):
                    loomlet.schedule()
                Channel().receive()
            finally:
                with CancelScope(shield=True):
                    loomlet.schedule()
                ended.append(n)

        def worker():
            with TaskGroup() as group:
                for n in range(3):
                    group.spawn(child, n)
                    loomlet.schedule()

        task = loomlet.spawn(worker)
        for _ in range(turns):
            loomlet.schedule()
        task.kill()
        with pytest.raises(TaskletKilled):
            task.join()
        assert sorted(ended) == sorted(begun)
        assert len(loomlet._core.tasklets()) == 1

    explore(model, range(100))


@pytest.mark.parametrize("others", range(4))
def test_two_failures_at_the_same_time(others):
    """Whichever is first: both come out, all others are cancelled, the body too."""

    def model():
        cancelled = []

        def fail(n):
            loomlet.schedule()
            raise Failure(n)

        def wait():
            try:
                Channel().receive()
            except Cancelled:
                cancelled.append(1)
                raise

        try:
            with TaskGroup() as group:
                for n in range(2):
                    group.spawn(fail, n)
                for _ in range(others):
                    group.spawn(wait)
                wait()
        except* Failure as error:
            numbers = sorted(failure.args[0] for failure in error.exceptions)
        # The second may have been cancelled before it failed.
        assert numbers in ([0], [1], [0, 1])
        assert len(cancelled) == others + 1

    explore(model, range(200))
