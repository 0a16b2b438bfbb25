"""Where a signal finds a thread that is a tasklet, its handler and what that raises are main's."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import loomlet
from loomlet import Channel, _core

SWALLOWS = """
    import signal
    import threading
    import time

    def work():
        while True:
            try:
                {work}
            except {caught}:
                pass

    def stop(number, frame):
        raise LookupError

    signal.signal(signal.SIGTERM, stop)
    event = threading.Event()
    threading.Thread(target=work, daemon=True).start()
    print("begun", flush=True)
    {main}
"""
# What computes for ever and catches even its kill would keep the end of run().
WORK = {
    "computes": {"work": "sum(range(100))", "caught": "(KeyboardInterrupt, LookupError)"},
    "waits": {"work": "time.sleep(0.001)", "caught": "BaseException"},
}
MAIN = {
    "waits": "event.wait()",
    "polls": "while True: event.wait(0.01)",
    "computes": "while True: pass",
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
@pytest.mark.parametrize("main", MAIN.values(), ids=MAIN.keys())
@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
def test_a_worker_that_catches_everything_does_not_keep_the_program(number, main, work, tmp_path):
    """KeyboardInterrupt, or what a handler raises, ends the program as it does without us."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(SWALLOWS.format(main=main, **work)))
    line = [sys.executable, "-m", "loomlet", "run", str(path)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(number)
        _, printed = process.communicate(timeout=60)
    name = b"KeyboardInterrupt" if number == signal.SIGINT else b"LookupError"
    assert name in printed
    assert process.returncode == (-signal.SIGINT if number == signal.SIGINT else 1)


@pytest.fixture
def handle():
    """Sets handlers for the time of a test."""
    before = []

    def set_handler(handler, number=signal.SIGUSR2):
        before.append((number, signal.signal(number, handler)))

    yield set_handler
    for number, handler in reversed(before):
        signal.signal(number, handler)


def raised_in_thread(wait, *numbers):
    """Main waits while a thread sends signals to the process: what main got."""

    def send():
        go.wait()
        for number in numbers:
            signal.raise_signal(number)
        ended.send(True)

    go, ended = threading.Event(), Channel(1)
    thread = threading.Thread(target=send)
    thread.start()
    go.set()
    try:
        wait(thread)
    except KeyError as error:
        return error
    finally:
        assert ended.receive()
        thread.join()


def test_the_handler_runs_in_main(handle):
    """As main's thread, with main's frame, while the thread that was found goes on."""
    seen = []

    def handler(number, frame):
        while frame.f_code is not main.__code__:
            frame = frame.f_back
        seen.append((number, threading.current_thread(), frame.f_code.co_name))

    def main():
        assert raised_in_thread(threading.Thread.join, signal.SIGUSR2) is None

    handle(handler)
    loomlet.run(main)
    assert seen == [(signal.SIGUSR2, threading.main_thread(), "main")]


def fail(number, frame):
    raise KeyError(number)


@pytest.mark.parametrize("handoff", [False, True])
@pytest.mark.parametrize("wait", [threading.Thread.join, lambda _: Channel().receive()])
def test_main_gets_what_the_handler_raises(wait, handoff, handle):
    """In a wait that can begin again, in one that cannot, and when its end has come by then."""
    if handoff and not _core._can_hand_over():
        pytest.skip("handoff needs 3.12 or later")
    handle(fail)
    error = loomlet.run(raised_in_thread, wait, signal.SIGUSR2, handoff=handoff)
    assert error.args == (signal.SIGUSR2,)


def test_a_handler_that_waits(handle):
    """It runs in main, which may wait, and then begins its own wait again."""
    seen = []

    def handler(number, frame):
        time.sleep(0.001)
        seen.append(loomlet.current().is_main)

    handle(handler)
    assert loomlet.run(raised_in_thread, threading.Thread.join, signal.SIGUSR2) is None
    assert seen == [True]


def test_several_signals(handle):
    """One handler raises; the others run all the same."""
    seen = []
    handle(fail)
    handle(lambda number, frame: seen.append(number), signal.SIGUSR1)
    for numbers in ((signal.SIGUSR2, signal.SIGUSR1), (signal.SIGUSR1, signal.SIGUSR2)):
        error = loomlet.run(raised_in_thread, threading.Thread.join, *numbers)
        assert error.args == (signal.SIGUSR2,)
    assert seen == [signal.SIGUSR1] * 2


def test_programs_see_their_own_handlers(handle):
    """signal.getsignal() and what signal.signal() returns."""
    handle(fail)
    assert signal.getsignal(signal.SIGUSR2) is fail
    assert signal.signal(signal.SIGUSR2, signal.SIG_IGN) is fail
    assert signal.signal(signal.SIGUSR2, fail) is signal.SIG_IGN
    handle(signal.default_int_handler)
    assert signal.getsignal(signal.SIGUSR2) is signal.default_int_handler
    with pytest.raises(TypeError):
        signal.signal(signal.SIGUSR2, "no function")


def test_without_time_slices_the_thread_gets_it(handle):
    """Main might never come to run."""
    seen = []

    def catches():
        try:
            signal.raise_signal(signal.SIGUSR2)
        except KeyError as error:
            seen.append(error)

    def main():
        thread = threading.Thread(target=catches)
        thread.start()
        thread.join()

    handle(fail)
    loomlet.run(main, slice=None)
    assert len(seen) == 1


def test_a_spawned_tasklet_gets_it(handle):
    """It is no thread but a part of main's."""

    def main():
        with pytest.raises(KeyError):
            loomlet.spawn(signal.raise_signal, signal.SIGUSR2).result()

    handle(fail)
    loomlet.run(main)


def test_threads_set_nothing_for_signals():
    """They are refused as threads of the system; main and tasklets spawned there are not."""

    def ask():
        for call in set_handler, set_descriptor:
            try:
                call()
                answers.append("done")
            except ValueError as error:
                answers.append(str(error))

    def set_handler():
        signal.signal(signal.SIGUSR2, signal.getsignal(signal.SIGUSR2))

    def set_descriptor():
        signal.set_wakeup_fd(signal.set_wakeup_fd(-1))

    def main():
        ask()
        loomlet.spawn(ask).join()
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()

    answers = []
    loomlet.run(main)
    refused = "only works in main thread of the main interpreter"
    assert answers == ["done"] * 4 + [f"{name} {refused}" for name in ("signal", "set_wakeup_fd")]
