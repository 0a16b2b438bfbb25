"""KeyboardInterrupt reaches the main tasklet in whatever state the program is."""

import pytest

PROGRAM = """
    import os, signal, threading, time
    import loomlet

    def interrupt():
        signal.raise_signal(signal.SIGINT)

    def later():
        time.sleep(0.1)  # the main thread sleeps in loomlet by then
        os.kill(os.getpid(), signal.SIGINT)

    def from_outside():
        threading.Thread(target=later, daemon=True).start()

    def main():
        log = []
        try:
            {body}
        except KeyboardInterrupt:
            print("main", *log)

    loomlet.run(main)
"""

BODIES = {
    "main runs": "interrupt()",
    "main runs and others wait": (
        "loomlet.spawn(loomlet.Channel().receive); loomlet.schedule(); interrupt()"
    ),
    "all wait": (
        "from_outside(); loomlet.spawn(loomlet.Channel().receive); loomlet.Channel().receive()"
    ),
    "main sleeps": "from_outside(); loomlet.sleep(1000)",
    "main joins a sleeper": "from_outside(); loomlet.spawn(loomlet.sleep, 1000).join()",
    "main selects": "from_outside(); loomlet.select([loomlet.Channel()], timeout=1000)",
    "main iterates": "from_outside(); [x for x in loomlet.Channel()]",
    "main is paused": (
        "from_outside(); loomlet.spawn(loomlet.sleep, 1000); "
        "loomlet.spawn(loomlet.current().remove); loomlet.schedule()"
    ),
    "a tasklet runs, main waits": "loomlet.spawn(interrupt); loomlet.Channel().receive()",
    "a tasklet runs, main is runnable": "loomlet.spawn(interrupt); loomlet.schedule()",
    "a tasklet loops": (
        "from_outside(); loomlet.spawn(lambda: [x for x in iter(int, 1)]); "
        "loomlet.Channel().receive()"
    ),
    "tasklets switch all the time": (
        "from_outside(); [loomlet.spawn(lambda: [loomlet.schedule() for x in iter(int, 1)])"
        " for _ in range(5)]; loomlet.Channel().receive()"
    ),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("soft", ["0", "1"])
def test_it_reaches_main(body, soft, python):
    """The exception is raised in the main tasklet, which may handle it."""
    done = python(PROGRAM.format(body=body), LOOMLET_SOFT=soft)
    assert (done.returncode, done.stdout, done.stderr) == (0, "main\n", "")


def test_a_tasklet_may_catch_it(python):
    """A tasklet that runs when the signal comes may handle it; main does not see it then."""
    done = python(
        """
        import signal
        import loomlet

        def body():
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                return "caught"

        print(loomlet.run(lambda: loomlet.spawn(body).result()))
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "caught\n", "")


WAITS = {
    "a channel": "gate.receive()",
    "a turn": "loomlet.schedule(); loomlet.schedule()",
    "an event": "event.wait()",
    "an event, no longer than a minute": "event.wait(60)",
    "a lock": "lock.acquire()",
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
@pytest.mark.parametrize("soft", ["0", "1"])
def test_one_that_comes_when_main_is_woken(wait, soft, python):
    """It comes out of the call that has waited, so what stands in `finally` is run in full.

    Only C code runs between the end of the wait and main, so nobody looks for signals before.
    """
    done = python(
        f"""
        import ctypes, signal, threading
        import loomlet
        import loomlet.patch

        loomlet.patch.install()
        send_signal = getattr(ctypes.CDLL(None), "raise")
        gate, event, lock = loomlet.Channel(), threading.Event(), threading.Lock()

        def end_the_wait():
            loomlet.spawn(send_signal, signal.SIGINT)
            event.set()
            lock.release()
            gate.try_send(None)

        def clean():
            print("cleaned")

        def wait():
            try:
                {wait}
                return
            finally:
                clean()

        def main():
            lock.acquire()
            loomlet.spawn(end_the_wait)
            try:
                wait()
            except KeyboardInterrupt:
                print("main", lock.locked())

        loomlet.run(main)
        """,
        LOOMLET_SOFT=soft,
    )
    assert done.stderr == ""
    assert done.stdout == f"cleaned\nmain {wait.startswith('lock')}\n"


@pytest.mark.parametrize("soft", ["0", "1"])
def test_a_handler_loses_nothing_that_main_was_woken_with(soft, python):
    """It runs before main goes on, may wait itself, and main gets what it was sent."""
    done = python(
        """
        import ctypes, signal
        import loomlet

        send_signal = getattr(ctypes.CDLL(None), "raise")
        gate = loomlet.Channel()

        def handle(*_):
            loomlet.sleep(0.01)
            print("handled")

        def end_the_wait():
            loomlet.spawn(send_signal, signal.SIGUSR1)
            gate.send("sent")

        def main():
            signal.signal(signal.SIGUSR1, handle)
            loomlet.spawn(end_the_wait)
            print(gate.receive())

        loomlet.run(main)
        """,
        LOOMLET_SOFT=soft,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "handled\nsent\n", "")


def test_other_signal_handlers_run_while_all_sleep(python):
    """A Python signal handler is called although every tasklet waits, and may wake one."""
    done = python(
        """
        import os, signal, threading, time
        import loomlet

        ch = loomlet.Channel(1)
        signal.signal(signal.SIGUSR1, lambda *_: ch.send("from the handler"))

        def later():
            time.sleep(0.1)  # the main thread sleeps in loomlet by then
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(100)

        threading.Thread(target=later, daemon=True).start()
        print(ch.receive())
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "from the handler\n", "")


def test_a_handler_must_not_block(python):
    """A signal handler that would wait while the scheduler sleeps gets SwitchTrapped in main."""
    done = python(
        """
        import os, signal, threading, time
        import loomlet

        signal.signal(signal.SIGUSR1, lambda *_: loomlet.sleep(1))

        def later():
            time.sleep(0.1)  # the main thread sleeps in loomlet by then
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(100)

        threading.Thread(target=later, daemon=True).start()
        try:
            loomlet.Channel().receive()
        except loomlet.SwitchTrapped:
            print("trapped")
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "trapped\n", "")


def test_the_unhandled_one_ends_the_process(python):
    """Not handled, it ends the process as in any program; finally blocks of tasklets run."""
    done = python(
        """
        import signal
        import loomlet

        def body():
            try:
                loomlet.Channel().receive()
            finally:
                print("finally")

        def main():
            loomlet.spawn(body)
            loomlet.schedule()
            signal.raise_signal(signal.SIGINT)

        loomlet.run(main)
        """
    )
    assert done.returncode == -2
    assert done.stdout == "finally\n"
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")
