"""A channel that nothing refers to gives up the tasklets that wait in it."""

import gc
import weakref

import pytest

import loomlet.compat.stackless as stackless


def test_its_waiters_are_finalised(mode):
    """Spec 4, lost channels: a tasklet that only the channel knew goes with it."""
    log = []

    def body(ch):
        log.append("waits")
        ch.receive()
        log.append("received")

    ch = stackless.channel()
    task = stackless.tasklet(body)(ch)
    ref, channel = weakref.ref(task), weakref.ref(ch)
    stackless.run()
    del ch, task
    gc.collect()
    gc.collect()
    assert log == ["waits"]
    assert ref() is None
    assert channel() is None


def test_a_waiter_that_is_held_stays_in_it(mode):
    """Spec 4, lost channels: a reference to the waiting tasklet keeps the channel alive."""
    ch = stackless.channel()
    task = stackless.tasklet(lambda ch: ch.receive())(ch)
    stackless.run()
    del ch
    gc.collect()
    assert task.blocked
    assert task._channel.balance == -1
    task.kill()
    assert not task.alive


@pytest.mark.parametrize("nested", [False, True])
def test_only_those_with_c_state_run_their_finally_blocks(mode, recwarn, nested):
    """Spec 4, lost channels: these get TaskletExit, without a warning; others are dropped."""
    log = []

    def body(ch):
        try:
            ch.receive()
        finally:
            log.append("finally")

    ch = stackless.channel()
    for _ in range(2):
        if nested:
            stackless.tasklet(stackless._test_nostacklesscall)(body, ch)
        else:
            stackless.tasklet(body)(ch)
    stackless.run()
    stacks = (ch.queue.nesting_level > 0) + (ch.queue.next.nesting_level > 0)
    del ch
    gc.collect()
    stackless.run()
    assert log == ["finally"] * stacks
    assert len(recwarn) == 0
