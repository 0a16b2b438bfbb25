"""A thread that ends takes its suspended tasklets along; their finally blocks run."""

import threading

import pytest

import loomlet
from loomlet import Channel


def hard(func):
    return next(map(lambda _: func(), [0]))


def test_suspended_tasklets_are_ended(mode):
    """All tasklets of a thread that ends without run() get TaskletExit in that thread."""
    log = []

    def body(wait):
        try:
            wait()
        finally:
            log.append(threading.get_ident())

    def thread():
        ch = Channel()
        for wait in (
            ch.receive,
            loomlet.schedule,
            lambda: loomlet.sleep(100),
            lambda: hard(ch.receive),
        ):
            loomlet.spawn(body, wait)
        loomlet.schedule()

    one = threading.Thread(target=thread)
    one.start()
    one.join()
    assert log == [one.ident] * 4


def test_a_tasklet_that_never_started(mode):
    """Tasklets that never ran are dropped with their arguments."""
    import weakref

    class Value:
        pass

    seen = []

    def thread():
        value = Value()
        seen.append(weakref.ref(value))
        loomlet.spawn(print, value)

    one = threading.Thread(target=thread)
    with pytest.warns(
        RuntimeWarning, match=r"ended before tasklet print-\d+ \(spawned at .*thread"
    ):
        one.start()
        one.join()
    assert seen[0]() is None


def test_joiners_in_other_threads_are_woken(mode):
    """A joiner of a tasklet whose thread ends gets a TaskletKilled."""
    handed = Channel(1)

    def thread():
        task = loomlet.spawn(Channel().receive)
        loomlet.schedule()
        handed.send(task)

    one = threading.Thread(target=thread)
    one.start()
    task = handed.receive()
    try:
        task.join()
        ended = "normally"
    except loomlet.TaskletKilled as error:
        ended = error.reason
    one.join()
    assert ended == "killed when its thread ended"
    assert task.state == "done"


def test_a_sender_of_an_ended_thread_is_gone(mode):
    """The values of senders in a thread that ended are not delivered."""
    ch = Channel()

    def thread():
        loomlet.spawn(ch.send, "lost")
        loomlet.schedule()

    one = threading.Thread(target=thread)
    one.start()
    one.join()
    assert ch.balance == 0
    assert ch.try_receive() == (False, None)


def test_many_threads_one_after_the_other(mode):
    """Schedulers are reused; hundreds of short threads leave nothing behind."""
    log = []

    def thread():
        def body():
            try:
                loomlet.schedule()
                Channel().receive()
            finally:
                log.append(1)

        for _ in range(3):
            loomlet.spawn(body)
        loomlet.schedule()
        loomlet.schedule()

    for _ in range(200):
        one = threading.Thread(target=thread)
        one.start()
        one.join()
    assert len(log) == 600


def test_daemon_threads_at_exit(python):
    """Daemon threads that wait in loomlet do not keep the process, nor crash it."""
    done = python(
        """
        import threading
        import loomlet

        ch = loomlet.Channel()

        def body():
            try:
                ch.receive()
            finally:
                pass

        def thread(ready):
            for _ in range(10):
                loomlet.spawn(body)
            loomlet.spawn(lambda: sorted([1], key=lambda _: ch.receive()))
            loomlet.schedule()
            ready.set()
            ch.receive()

        for _ in range(5):
            ready = threading.Event()
            threading.Thread(target=thread, args=[ready], daemon=True).start()
            ready.wait()
        print("end")
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_a_thread_that_ends_after_main(python):
    """The interpreter waits for a thread that works in loomlet, which ends as it should."""
    done = python(
        """
        import threading
        import loomlet

        ch = loomlet.Channel()

        def thread():
            task = loomlet.spawn(lambda: ch.receive())
            loomlet.sleep(0.05)  # main has ended by then
            ch.send("value")
            print(task.result())

        threading.Thread(target=thread).start()
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "value\n", "")
