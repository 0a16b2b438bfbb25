"""What happens when the last runnable tasklet blocks or ends; the texts are Stackless Python's."""

import threading

import pytest

import loomlet.compat.stackless as stackless

LAST = "Deadlock: the last runnable tasklet cannot be blocked."


@pytest.mark.parametrize("action", ["send", "receive"])
def test_main_alone(action, raises):
    """Spec 7, deadlock: the last runnable tasklet gets the error; its channel is as before."""
    ch = stackless.channel()
    with raises(RuntimeError, LAST):
        ch.send(1) if action == "send" else ch.receive()
    assert ch.balance == 0
    assert not stackless.getcurrent().blocked


@pytest.mark.parametrize("waits", ["receives", "removes itself"])
def test_the_one_that_blocks_last_gets_it(waits, raises, mode):
    """Spec 7, deadlock: though main is blocked too; it may go on, and wake main."""
    ch, mine = stackless.channel(), stackless.channel()
    removed = stackless.tasklet(print)()
    removed.remove()

    def last():
        with raises(RuntimeError, LAST):
            mine.receive() if waits == "receives" else stackless.schedule_remove()
        ch.send("woken")

    stackless.tasklet(last)()
    assert ch.receive() == "woken"
    assert mine.balance == 0
    stackless.run()


def test_main_gets_it_when_it_ends_the_last(raises, mode):
    """Spec 7, deadlock: main's blocked call raises what the tasklet does not handle."""
    ch, other = stackless.channel(), stackless.channel()
    task = stackless.tasklet(ch.receive)()
    with raises(RuntimeError, LAST):
        other.receive()
    assert not task.alive
    assert (ch.balance, other.balance) == (0, 0)


def test_main_receives_and_the_last_one_ends(raises, mode):
    """Spec 7, the last one ends: a main that receives gets an error that nothing sends."""
    ch = stackless.channel()
    stackless.tasklet(lambda: None)()
    with raises(RuntimeError, "the main tasklet is receiving without a sender available."):
        ch.receive()
    assert ch.balance == 0


def test_main_sends_and_the_last_one_ends(raises, mode):
    """Spec 7, the last one ends: a main that sends gets an error that nothing receives."""
    ch = stackless.channel()
    stackless.tasklet(lambda: None)()
    with raises(RuntimeError, "the main tasklet is sending without a receiver available."):
        ch.send(1)
    assert ch.balance == 0


def test_a_paused_main_is_woken(mode):
    """Spec 7, wake-up: it is no deadlock when main waits in run(): run() returns."""
    ch = stackless.channel()
    task = stackless.tasklet(ch.receive)()
    assert stackless.run() is None
    assert task.blocked
    ch.send(None)


def test_a_paused_watchdog_is_woken(mode):
    """Spec 7, wake-up: the innermost run() first."""
    ch, log = stackless.channel(), []

    def watch():
        stackless.tasklet(ch.receive)()
        stackless.run()
        log.append("inner run returned")

    stackless.tasklet(watch)()
    stackless.run()
    assert log == ["inner run returned"]
    assert ch.balance == -1
    ch.send(None)


def test_it_can_be_caught(mode):
    """Spec 7, deadlock: afterwards everything works."""
    ch, log = stackless.channel(), []
    with pytest.raises(RuntimeError):
        ch.receive()
    stackless.tasklet(lambda: log.append(ch.receive()))()
    stackless.run()
    ch.send("value")
    assert log == ["value"]


def test_a_second_thread_waits(thread):
    """Spec 7, other threads: with another thread awake there is no error; it sleeps until woken."""
    ch = stackless.channel()
    other = thread(ch.receive)
    while ch.balance == 0:
        threading.Event().wait(0.001)  # the other thread is about to wait
    ch.send("value")
    assert other.result() == "value"


def test_all_threads_are_asleep(thread, raises):
    """Spec 7, other threads: when they sleep inside stackless too, the last to block gets it."""
    ch = stackless.channel()

    def body():
        while ch.balance == 0:
            threading.Event().wait(0.001)  # the main thread is about to wait
        try:
            with raises(RuntimeError, LAST):
                stackless.channel().receive()
        finally:
            ch.send("woken")

    other = thread(body)
    assert ch.receive() == "woken"
    other.result()


def test_the_main_thread_in_a_plain_join_is_awake(python):
    """Spec 7, other threads: a thread that joins is not asleep inside stackless."""
    done = python("""
        import threading
        import loomlet.compat.stackless as stackless
        ch = stackless.channel()
        receiver = threading.Thread(target=lambda: print(ch.receive()))
        receiver.start()
        def feed():
            while ch.balance == 0:
                threading.Event().wait(0.001)
            ch.send("value")
        feeder = threading.Timer(0.05, feed)
        feeder.start()
        receiver.join()
        feeder.join()
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "value\n", "")


def test_in_a_tasklet_of_another_thread(thread, raises):
    """Spec 7, deadlock: there the tasklet that blocks gets it, though its main is blocked too."""
    ch, log = stackless.channel(), []

    def last(mine):
        while ch.balance == 0:
            threading.Event().wait(0.001)  # the main thread is about to wait
        with raises(RuntimeError, LAST):
            stackless.channel().receive()
        log.append("notified")
        mine.send("woken")

    def body():
        mine = stackless.channel()
        stackless.tasklet(last)(mine)
        ch.send(mine.receive())

    other = thread(body)
    assert ch.receive() == "woken"
    assert log == ["notified"]
    other.result()


def test_the_last_one_is_paused(raises, mode):
    """Spec 7, deadlock: schedule_remove() of the last runnable one raises it there, too."""
    ch = stackless.channel()
    task = stackless.tasklet(stackless.schedule_remove)()
    with raises(RuntimeError, LAST):
        ch.receive()
    assert ch.balance == 0
    assert not task.alive
