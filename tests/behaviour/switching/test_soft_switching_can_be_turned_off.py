"""Soft switching can be turned off for a process; programs behave the same."""

import pytest

import loomlet
from loomlet import Channel, _core

PROGRAM = """
    import loomlet
    from loomlet import _core

    def body(ch):
        return [x for x in ch]

    ch = loomlet.Channel()
    task = loomlet.spawn(body, ch)
    for n in range(3):
        loomlet.schedule()
        ch.send(n)
    loomlet.schedule()
    ch.close()
    assert task.result() == [0, 1, 2]
    print(_core.soft(), _core.stats()["soft"] > 0)
"""


def test_the_environment_turns_it_off(python):
    """LOOMLET_SOFT=0 makes every switch of the process hard."""
    done = python(PROGRAM, LOOMLET_SOFT="0")
    assert (done.stdout, done.stderr) == ("False False\n", "")


def test_it_is_on_where_it_is_supported(python):
    """Without that variable, switches are soft exactly where the interpreter supports it."""
    done = python(PROGRAM, LOOMLET_SOFT="1", LOOMLET_TORTURE="")
    supported = bool(_core.SOFT_SUPPORTED)
    assert (done.stdout, done.stderr) == (f"{supported} {supported}\n", "")


@pytest.mark.parametrize("first", [True, False])
def test_it_may_change_while_tasklets_are_suspended(first):
    """A tasklet suspended in one way continues and is suspended again in the other."""

    def body(ch):
        return [ch.receive() for _ in range(6)]

    ch = Channel()
    tasks = [loomlet.spawn(body, ch) for _ in range(3)]
    soft = first
    for n in range(18):
        _core.soft(soft)
        soft = not soft
        loomlet.schedule()
        ch.send(n)
    assert sorted(sum((task.result() for task in tasks), [])) == list(range(18))
