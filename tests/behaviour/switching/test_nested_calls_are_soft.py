"""The depth of the call that blocks does not matter."""

import pytest

import loomlet
from loomlet import Channel


def nest(depth, ch, *carried):
    if depth == 0:
        return [ch.receive(), *carried]
    result = nest(depth - 1, ch, *carried)
    result.append(depth)
    return result


@pytest.mark.parametrize("depth", [1, 20, 400])
def test_a_blocking_call_deep_inside(depth, switches):
    """A call nested over several frame chunks suspends softly and returns through all levels."""
    for n in range(10):
        ch = Channel()
        task = loomlet.spawn(nest, depth, ch, "carried", n)
        switches.take()
        loomlet.schedule()
        assert switches.take() == (1, 0)
        ch.send("value")
        assert task.result() == ["value", "carried", n, *range(1, depth + 1)]


def down_and_up(depth, ch):
    got = [ch.receive()]
    if depth:
        got += down_and_up(depth - 1, ch)
    got.append(ch.receive())
    return got


def test_blocking_at_every_level(switches):
    """A tasklet that blocks at each level, going down and coming up, loses nothing."""
    ch = Channel()
    task = loomlet.spawn(down_and_up, 150, ch)
    for n in range(302):
        loomlet.schedule()
        ch.send(n)
    assert task.result() == list(range(302))
    assert switches.take() == (302, 0)


def test_many_deep_tasklets_at_once(switches):
    """Frames of tasklets suspended at different depths do not mix."""
    ch = Channel()
    tasks = [loomlet.spawn(nest, depth, ch, depth) for depth in range(0, 200, 7)]
    loomlet.schedule()
    for task in tasks:
        ch.send(task.id)
    for depth, task in zip(range(0, 200, 7), tasks, strict=True):
        assert task.result()[:2] == [task.id, depth]
    assert switches.take()[1] == 0
