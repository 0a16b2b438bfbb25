"""A thread that is a tasklet waits in C for main, or for a thread that keeps a stack.

Each program would wait for ever if such a thread sat where main is kept, or another thread.
"""

import textwrap
from pathlib import Path

import pytest

BEGIN = f"""
import os, sys, threading
import loomlet
sys.settrace(None)
sys.path.insert(0, {str(Path(__file__).parent)!r})
from helpers_c_calls import Gate, libc, run, where
from loomlet import patch

def start(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    return threads

def join(threads):
    for thread in threads:
        thread.join()

patch.install(threads=True)
"""


@pytest.fixture
def program(python):
    """Runs a program that begins with the lines above; returns what it printed."""

    def run_it(text):
        done = python(BEGIN + textwrap.dedent(text))
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run_it


def test_the_first_one_waits_for_main(program):
    """Main has started it, and goes on."""
    printed = program(
        """
        def main():
            with Gate() as gate:
                threads = start(gate.wait)
                gate.open()
                join(threads)

        run(main)
        print("over")
        """
    )
    assert printed == "over\n"


def test_its_function_is_one_in_c(program):
    """So that all of its Python code is that of threading."""
    printed = program(
        """
        def main():
            with Gate() as gate:
                thread = threading.Thread(target=libc.read, args=(gate.reader, gate.buffer, 1))
                thread.start()
                gate.open()
                thread.join()

        run(main)
        print("over")
        """
    )
    assert printed == "over\n"


def test_main_answers_each_of_their_calls(program):
    """Three threads ask main in turns, and wait in C for each answer."""
    printed = program(
        """
        import queue

        def main():
            asked = queue.Queue()

            def ask():
                with Gate() as gate:
                    for _ in range(5):
                        asked.put(gate)
                        gate.wait()

            threads = start(ask, ask, ask)
            for _ in range(15):
                asked.get().open()
            join(threads)

        run(main)
        print("over")
        """
    )
    assert printed == "over\n"


def test_those_that_wait_for_a_lock_are_not_held(program):
    """A wait for a lock keeps a stack; what then sits in C, sits elsewhere."""
    printed = program(
        """
        def main():
            gates, lock, count = [Gate() for _ in range(4)], threading.Lock(), 4

            def sit(gate):
                with lock:
                    pass
                gate.wait()
                with lock:
                    log.append(gate)

            def open_last_first():
                with lock:
                    pass
                for gate in reversed(gates):
                    gate.open()
                    while gate not in log:
                        turn.wait(0.001)

            log, turn = [], threading.Event()
            with lock:
                threads = start(*[lambda gate=gate: sit(gate) for gate in gates], open_last_first)
            join(threads)
            for gate in gates:
                gate.__exit__()
            return log == gates[::-1]

        print(run(main))
        """
    )
    assert printed == "True\n"


def test_they_share_a_thread_while_nobody_keeps_a_stack(program):
    """A hundred threads that come and go need no hundred of the system's."""
    printed = program(
        """
        def main():
            seen = set()
            join(start(*[lambda: seen.add(where())] * 100))
            return len(seen) < 10

        print(run(main))
        """
    )
    assert printed == "True\n"


def test_a_call_that_another_one_is_in_is_seen_in_every_thread(program):
    """Main finds the thread in poll(), which refuses a second caller."""
    printed = program(
        """
        import select

        def main():
            with Gate() as gate:
                poll = select.poll()
                poll.register(gate.reader, select.POLLIN)
                threads = start(poll.poll)
                turn.wait(0.01)
                try:
                    poll.poll()
                except RuntimeError as error:
                    print(error)
                gate.open()
                join(threads)

        turn = threading.Event()
        run(main)
        """
    )
    assert printed == "concurrent poll() invocation\n"


DAEMON = """
log = []

def daemon(gate):
    try:
        log.append("sits")
        gate.wait()
        while True:
            pass
    finally:
        log.append("ended")

def main(gate):
    threading.Thread(target=daemon, args=(gate,), daemon=True).start()
    while not log:
        turn.wait(0.001)

turn = threading.Event()
gate = Gate()
run(main, gate)
"""


def test_the_end_does_not_wait_for_a_daemon(program):
    """Neither that of run(), nor that of the program."""
    assert program(DAEMON + "print(log)") == "['sits']\n"


def test_a_daemon_ends_when_its_call_has(program):
    """In a later run: it was killed at the end of the first."""
    printed = program(
        DAEMON
        + """
def later():
    gate.open()
    while "ended" not in log:
        turn.wait(0.001)

run(later)
print(log)
"""
    )
    assert printed == "['sits', 'ended']\n"


def test_they_begin_where_they_are_started_and_run_apart(program):
    """And what has started one goes on first.  The slice is long: only that makes them leave."""
    printed = program(
        """
        class Thread(threading.Thread):
            def _set_native_id(self):
                super()._set_native_id()
                begun.append(where())

            def run(self):
                log.append("runs")
                ran.append(where())

        def main():
            thread = Thread()
            thread.start()
            log.append("started")
            thread.join()
            return begun == [where()] and ran != begun

        begun, ran, log = [], [], []
        print(loomlet.run(main, slice=1, handoff=True), *log)
        """
    )
    assert printed == "True started runs\n"


def test_one_that_nobody_waits_for_begins_apart(program):
    """As those of _thread do: the first thing that it does may be to sit."""
    printed = program(
        """
        import _thread

        def main():
            with Gate() as gate:
                _thread.start_new_thread(gate.wait, ())
                loomlet.schedule()
                gate.open()

        run(main)
        print("over")
        """
    )
    assert printed == "over\n"


def test_one_whose_start_wakes_nobody_leaves_with_its_first_wait(program):
    """Its starter was interrupted: nobody waits for it any more."""
    printed = program(
        """
        class Thread(threading.Thread):
            def run(self):
                done.wait()
                ran.append(where())

        def begin(thread):
            thread._started.wait = lambda: None
            thread.start()

        def main():
            thread = Thread()
            begin(thread)
            loomlet.schedule()
            done.set()
            thread.join()
            return ran != [where()]

        ran, done = [], threading.Event()
        print(loomlet.run(main, slice=1, handoff=True))
        """
    )
    assert printed == "True\n"


def test_a_signal_finds_a_thread_that_waits_for_it(program):
    """Sent by pthread_kill() to its ident, before it waits in C and while it does."""
    printed = program(
        """
        import signal

        def wait():
            begun.set()
            print(signal.sigwait({signal.SIGUSR2}) == signal.SIGUSR2)

        def main():
            with Gate() as gate:
                for early in True, False:
                    begun.clear()
                    threads = start(wait)
                    begun.wait()
                    if not early:
                        for _ in range(20):  # it sits in C then, most times
                            sitting = start(gate.wait)
                            gate.open()
                            join(sitting)
                    signal.pthread_kill(threads[0].ident, signal.SIGUSR2)
                    join(threads)

        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
        begun = threading.Event()
        run(main)
        """
    )
    assert printed == "True\n" * 2
