"""Which API's error a deadlock raises depends on the wait, not on the waiter.

In a process that uses both APIs the main tasklet is of Stackless, whichever code it runs.
"""

import re
import threading

import pytest

import loomlet
import loomlet.compat.stackless as stackless

LAST = "Deadlock: the last runnable tasklet cannot be blocked."
NEVER = loomlet.Channel()  # nothing sends, but it can be reached: its receiver is not collected
NO_SENDER = "the main tasklet is receiving without a sender available."


def native_waits():
    """Ways to wait for ever with the native API, by name."""
    held = loomlet.Lock()

    def acquire():
        with held:
            held.acquire()

    return {
        "send": lambda: loomlet.Channel().send(1),
        "receive": lambda: loomlet.Channel().receive(),
        "iterate": lambda: next(iter(loomlet.Channel())),
        "select": lambda: loomlet.select([loomlet.Channel()]),
        "select of stackless": lambda: loomlet.select([stackless.channel()]),
        "join": lambda: loomlet.spawn(NEVER.receive).join(),
        "join of stackless": lambda: stackless.tasklet(stackless.channel().receive)().join(),
        "acquire": acquire,
        "switch": lambda: loomlet.spawn(lambda: None).switch(),
    }


def stackless_waits():
    """Ways of Stackless, with the text for a main tasklet that blocks last."""
    return {
        "send": lambda: stackless.channel().send(1),
        "receive": lambda: stackless.channel().receive(),
        "iterate": lambda: next(stackless.channel()),
    }


@pytest.mark.parametrize("way", native_waits())
def test_main_in_a_native_wait(way, mode):
    """It gets loomlet's error, which lists the waiters, even in a main tasklet of Stackless."""
    assert isinstance(stackless.getmain(), stackless.tasklet)
    with pytest.raises(loomlet.Deadlock, match="every tasklet waits"):
        native_waits()[way]()


@pytest.mark.parametrize("way", stackless_waits())
def test_main_in_a_wait_of_stackless(way, mode):
    """It gets the error of Stackless."""
    with pytest.raises(RuntimeError, match=f"^{re.escape(LAST)}$") as caught:
        stackless_waits()[way]()
    assert not isinstance(caught.value, loomlet.Deadlock)


@pytest.mark.parametrize("spawn", [loomlet.spawn, lambda f: stackless.tasklet(f)()])
def test_main_waits_natively_and_another_blocks_last(spawn, mode):
    """The main tasklet's wait decides, whichever tasklet detects the deadlock in whatever wait."""
    for other in stackless.channel(), loomlet.Channel():
        task = spawn(other.receive)
        with pytest.raises(loomlet.Deadlock):
            loomlet.Channel().receive()
        task.kill()


@pytest.mark.parametrize("spawn", [loomlet.spawn, lambda f: stackless.tasklet(f)()])
def test_main_waits_for_stackless_and_another_blocks_last(spawn, mode):
    """The same the other way round."""
    for other in stackless.channel(), loomlet.Channel():
        task = spawn(other.receive)
        with pytest.raises(RuntimeError, match=f"^{re.escape(LAST)}$"):
            stackless.channel().receive()
        task.kill()


@pytest.mark.parametrize("spawn", [loomlet.spawn, lambda f: stackless.tasklet(f)()])
def test_the_last_one_ends(spawn, mode):
    """Main gets an error in the words of its own wait."""
    spawn(lambda: None)
    with pytest.raises(loomlet.Deadlock):
        loomlet.Channel().receive()
    spawn(lambda: None)
    with pytest.raises(RuntimeError, match=f"^{re.escape(NO_SENDER)}$"):
        stackless.channel().receive()


def test_inside_run():
    """Inside loomlet.run() main is loomlet's, whatever it waits for."""
    with pytest.raises(loomlet.Deadlock):
        loomlet.run(stackless.channel().receive)


def test_a_paused_main_of_stackless_continues(mode):
    """schedule_remove() and tasklet.switch() return in main when no other tasklet can run."""
    task = stackless.tasklet(loomlet.Channel().receive)()
    assert stackless.schedule_remove("value") == "value"
    ended = stackless.tasklet(lambda: None)()
    ended.switch()
    assert not ended.alive
    task.kill()


def test_run_of_stackless_returns(mode):
    """The wait of stackless.run() ends when the others wait natively, too."""
    task = loomlet.spawn(loomlet.Channel().receive)
    assert stackless.run() is None
    assert task.state == "blocked"


def test_on_another_thread():
    """There the one that blocks last gets Stackless' error, and main the native one."""
    woken, seen = stackless.channel(), []

    def blocks(name, channel):
        try:
            channel.receive()
        except RuntimeError as error:
            seen.append((name, isinstance(error, loomlet.Deadlock)))

    def thread():
        while woken.balance == 0:
            threading.Event().wait(0.001)  # the main thread is about to wait
        try:
            for kind in stackless.channel, loomlet.Channel:
                stackless.tasklet(blocks)("task", kind())
                blocks("main", kind())
        finally:
            woken.send(None)

    other = threading.Thread(target=thread)
    other.start()
    woken.receive()
    other.join()
    assert seen == [("task", False), ("main", False), ("main", True)]
