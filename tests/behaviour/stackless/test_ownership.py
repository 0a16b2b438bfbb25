"""A queue owns its tasklets; a paused tasklet is kept alive only by references to it."""

import gc
import weakref

import pytest

import loomlet
import loomlet.compat.stackless as stackless


def test_the_run_queue_keeps_its_tasklets(mode):
    """Spec 1, ownership: nothing else needs to refer to a scheduled tasklet; its end frees it."""
    log = []
    ref = weakref.ref(stackless.tasklet(log.append)("ran"))
    gc.collect()
    assert ref() is not None
    stackless.run()
    gc.collect()
    assert log == ["ran"]
    assert ref() is None


def test_a_channel_keeps_its_tasklets(mode):
    """Spec 1, ownership: a blocked tasklet lives as long as the channel that it waits for."""
    ch, log = stackless.channel(), []
    ref = weakref.ref(stackless.tasklet(lambda: log.append(ch.receive()))())
    stackless.run()
    gc.collect()
    assert ref() is not None
    ch.send("value")
    gc.collect()
    assert log == ["value"]
    assert ref() is None


def test_a_paused_tasklet_is_not_kept_alive():
    """Spec 1, ownership: without a holder it is gone, and does not run."""
    log = []
    task = stackless.tasklet(log.append)("ran")
    ref = weakref.ref(task)
    task.remove()
    del task
    gc.collect()
    assert ref() is None
    stackless.run()
    assert log == []


def test_a_started_one_with_c_state_is_killed():
    """Spec 3, tasklet.__del__: a tasklet with C state that nothing refers to is killed."""
    log = []

    def wait():
        try:
            stackless.schedule_remove(None)
        except TaskletExit:
            log.append("exit")
            raise

    task = stackless.tasklet(stackless._test_nostacklesscall)(wait)
    stackless.run()
    assert task.paused
    del task
    gc.collect()
    assert log == ["exit"]


def test_one_in_a_cycle_is_collected(mode):
    """Spec 3, tasklet.__del__: the collector finds tasklets that only hold themselves."""
    log = []

    def wait():
        me = stackless.getcurrent()
        stackless.schedule_remove()
        log.append(me)

    task = stackless.tasklet(wait)()
    ref = weakref.ref(task)
    stackless.run()
    del task
    gc.collect()
    gc.collect()
    assert ref() is None
    assert log == []


def test_a_tasklet_that_refuses_to_end():
    """Spec 3, tasklet.__del__: asked ten times, it is shown in gc.garbage."""
    tries, seen = [], []

    def wait():
        seen.append(weakref.ref(stackless.getcurrent()))
        while len(tries) < 11:
            try:
                stackless.schedule_remove(None)
            except TaskletExit:
                tries.append(None)

    task = stackless.tasklet(stackless._test_nostacklesscall)(wait)
    stackless.run()
    del task
    gc.collect()
    assert len(tries) == 10
    assert gc.garbage == [seen[0]()]
    gc.garbage.pop().kill()
    assert len(tries) == 11
    assert seen[0]() is None


def lose(wait):
    task = stackless.tasklet(wait)()
    stackless.run()
    ref = weakref.ref(task)
    del task
    gc.collect()
    assert ref() is None


@pytest.mark.usefixtures("soft")
def test_one_without_c_state_is_dropped():
    """Spec 3, tasklet.__del__: its frames go and its finally blocks do not run."""
    log = []

    def wait():
        held = Held(log)
        try:
            stackless.schedule_remove(None)
        finally:
            log.append("finally")
            del held

    lose(wait)
    assert log == ["freed"]


class Held:
    def __init__(self, log):
        self.log = log

    def __del__(self):
        self.log.append("freed")


@pytest.mark.usefixtures("soft")
def test_one_in_a_generator_is_dropped():
    """Spec 3, tasklet.__del__: a generator that it is running does not run its own, either."""
    log = []

    def steps():
        try:
            stackless.schedule_remove(None)
            yield
        finally:
            log.append("finally")

    def wait():
        for _ in steps():
            pass

    lose(wait)
    assert log == []


@pytest.mark.usefixtures("soft")
def test_one_that_waits_in_an_operation_of_loomlet_is_killed():
    """Spec 3, tasklet.__del__: native rules apply to native waits."""
    log = []

    def wait():
        channel = loomlet.Channel()
        try:
            channel.receive()
        finally:
            log.append("finally")

    lose(wait)
    assert log == ["finally"]
