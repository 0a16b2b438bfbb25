"""atomic() makes a block of code that no involuntary switch can interrupt."""

import pytest

import loomlet.compat.stackless as stackless


def test_it_sets_the_flag_and_restores_it():
    """Spec 2, atomic: __enter__ returns None; the flag is as before afterwards."""
    me = stackless.getcurrent()
    with stackless.atomic() as value:
        assert value is None
        assert me.atomic is True
    assert me.atomic is False


def test_it_nests():
    """Spec 2, atomic: only the outermost one clears the flag."""
    me = stackless.getcurrent()
    with stackless.atomic():
        with stackless.atomic():
            assert me.atomic
        assert me.atomic
    assert not me.atomic


def test_it_restores_after_an_exception():
    """Spec 2, atomic: exceptions pass."""
    with pytest.raises(KeyError), stackless.atomic():
        raise KeyError
    assert not stackless.getcurrent().atomic


def test_it_does_not_hinder_voluntary_switches(mode):
    """Spec 2, atomic: schedule() in it switches; the flag is the tasklet's own."""
    log = []
    stackless.tasklet(lambda: log.append(stackless.getcurrent().atomic))()
    with stackless.atomic():
        stackless.schedule()
    assert log == [False]


def test_it_keeps_involuntary_switches_away():
    """Spec 2, atomic: a watchdog that is due has to wait for its end."""
    log = []

    def body():
        with stackless.atomic():
            for n in range(10_000):
                log.append(n)
        while True:
            log.append("interruptible")

    task = stackless.tasklet(body)()
    assert stackless.run(100) is task
    assert log[:10_000] == list(range(10_000))
    task.kill()
