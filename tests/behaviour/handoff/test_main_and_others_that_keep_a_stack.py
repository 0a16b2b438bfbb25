"""What keeps a C stack runs in its own thread only: beside calls that were handed over before."""

import contextvars
import os
import queue
import signal
import threading
import weakref

import pytest
from helpers_c_calls import Gate, run, sit, teach, where

import loomlet
from loomlet import Channel, _core, schedule, spawn


def test_main_runs_beside_a_call_that_was_handed_over_before():
    """The first call kept main waiting; main itself ends the others."""

    def main():
        home = where()
        with Gate() as gate:
            teach(sit, gate)
            tasks = [spawn(sit, gate) for _ in range(10)]
            schedule()
            for _ in tasks:
                gate.open()
            threads = [task.result() for task in tasks]
        return home in threads

    assert not run(main)


def test_main_runs_beside_calls_when_other_threads_had_schedulers(python):
    """What was known of those threads, which have ended, is known of no new one."""
    done = python(
        f"""
        import sys, threading
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        sys.settrace(None)
        from helpers_c_calls import Gate, run, sit, teach, where
        from loomlet import schedule, spawn

        def main():
            home, all_there = where(), threading.Barrier(3)
            with Gate() as gate:
                teach(sit, gate)
                others = [threading.Thread(target=run, args=(all_there.wait,)) for _ in range(3)]
                for thread in others:
                    thread.start()
                for thread in others:
                    thread.join()
                tasks = [spawn(sit, gate) for _ in range(10)]
                schedule()
                for _ in tasks:
                    gate.open()
                print(home in [task.result() for task in tasks])

        run(main)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


def test_one_that_sits_again_and_again_leaves_the_thread_of_main():
    """It sat there at first, and kept its stack; main, which keeps one too, ends later calls."""

    def sit_often(gate):
        for _ in range(4):
            gate.wait()

    def main():
        seen = []
        with Gate() as gate:
            task = spawn(sit_often, gate)
            gate.open()
            schedule()
            kept = where()

            def key(value):
                schedule()
                seen.append(where())
                gate.open()
                return value

            found = sorted([3, 2, 1], key=key)
            task.join()
        return found, [*map(kept.__eq__, seen)]

    assert run(main) == ([1, 2, 3], [True] * 3)


def test_workers_below_c_code():
    """Tasklets that wait inside C code, each in the thread where it began to wait."""

    def main():
        inbox, outbox = Channel(), queue.SimpleQueue()

        def work(n):
            def key(value):
                inbox.receive()
                return -value

            thread = where()
            found = sorted([1, 2, 3], key=key)
            assert where() == thread
            outbox.put((n, found))

        with Gate() as gate:
            teach(sit, gate)
            workers = [spawn(work, n) for n in range(5)]
            sitters = [spawn(sit, gate) for _ in range(5)]

            def feed():
                for _ in range(15):
                    inbox.send(None)
                    gate.open()

            spawn(feed)
            for task in [*workers, *sitters]:
                task.join()
            return sorted(outbox.get() for _ in workers)

    assert run(main) == [(n, [3, 2, 1]) for n in range(5)]


def test_one_that_sat_below_c_code_goes_on_there():
    """It is kept in the thread in which it sat, and the scheduler comes to it."""

    def main():
        with Gate() as gate:

            def key(value):
                gate.wait()
                thread = where()
                schedule()
                assert where() == thread
                return value

            teach(sit, gate)
            tasks = [spawn(lambda: (sit(gate), sorted([2, 1], key=key))[1]) for _ in range(5)]
            spawn(lambda: [gate.open() for _ in range(15)])
            return [task.result() for task in tasks]

    assert run(main) == [[1, 2]] * 5


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
def test_a_lock_that_is_held_over_the_call(make):
    """Whoever waits for it gets it after the call, whatever thread that ran in."""

    def main():
        lock, log = make(), []
        with Gate() as gate:

            def hold(n):
                with lock:
                    sit(gate)
                    log.append(n)

            teach(sit, gate)
            tasks = [spawn(hold, n) for n in range(4)]
            spawn(lambda: [gate.open() for _ in tasks])
            for task in tasks:
                task.join()
        return log

    assert run(main) == [0, 1, 2, 3]


@pytest.mark.parametrize("sitters", range(5))
def test_slices_end_softly(sitters):
    """A tasklet that computes keeps no stack when its slice ends, also between calls of C, after
    which the interpreter cannot be left softly: the next loop is waited for.  Threads in which
    others have sat, and which are idle now, take no safepoint from it."""

    def main():
        with Gate() as gate:
            tasks = [spawn(sit, gate) for _ in range(sitters)]
            opens = spawn(lambda: [gate.open() for _ in tasks])
            for task in [opens, *tasks]:
                task.join()
        turns = [None]

        def compute(name):
            while len(turns) < 20:
                if turns[-1] != name:
                    turns.append(name)
                int("5")
                divmod(7, 2)

        before = _core.stats()
        tasks = [spawn(compute, name) for name in range(3)]
        for task in tasks:
            task.join()
        after = _core.stats()
        return after["soft"] - before["soft"] > 10, after["hard"] - before["hard"]

    many, hard = run(main)
    assert many
    assert hard <= 5  # those of main


def test_several_threads():
    """Each with a scheduler of its own, all at once."""

    def work():
        with Gate() as gate:
            for _ in range(5):
                tasks = [spawn(sit, gate) for _ in range(5)]
                opens = spawn(lambda: [gate.open() for _ in range(5)])
                for task in [*tasks, opens]:
                    task.join()
        return "done"

    results = queue.SimpleQueue()
    threads = [
        threading.Thread(target=lambda: results.put(run(lambda: spawn(work).result())))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [results.get() for _ in threads] == ["done"] * 3


def test_thread_locals_are_those_of_home():
    """In every thread that carries the scheduler; idents of the system are not."""
    local, name = threading.local(), contextvars.ContextVar("name")

    def main():
        local.value = "home"
        token = name.set("main")

        def look(gate):
            sit(gate)
            schedule()
            local.seen = getattr(local, "seen", 0) + 1
            return local.value, threading.current_thread(), threading.get_ident(), name.get()

        with Gate() as gate:
            teach(sit, gate)
            tasks = [spawn(look, gate) for _ in range(5)]
            spawn(lambda: [gate.open() for _ in tasks])
            found = {task.result() for task in tasks}
        name.reset(token)
        return found, local.seen

    here = threading.current_thread()
    assert run(main) == ({("home", here, here.ident, "main")}, 5)
    assert local.seen == 5


def test_a_connection_to_sqlite_knows_its_thread():
    """All tasklets of its scheduler may use it, wherever that is; another thread may not."""
    sqlite3 = pytest.importorskip("sqlite3")

    def main():
        connection, home = sqlite3.connect(":memory:"), where()

        def use(gate):
            away = sit(gate) != home
            return away, connection.execute("select 1").fetchone(), sqlite3.connect(":memory:")

        with Gate() as gate:
            teach(use, gate)[2].close()
            task = spawn(use, gate)
            schedule()
            gate.open()
            away, row, other = task.result()
            other.execute("select 2")
        refused = []

        def stranger():
            try:
                connection.execute("select 1")
            except sqlite3.ProgrammingError as error:
                refused.append(str(error))

        thread = threading.Thread(target=stranger)
        thread.start()
        thread.join()
        connection.close()
        other.close()
        return away, row, refused[0][:24]

    assert run(main) == (True, (1,), "SQLite objects created i")


def test_handlers_of_signals_are_set_in_every_thread():
    """That carries the scheduler of the first one; the handler runs in that one, as always."""

    def main():
        home, log = where(), []

        def listen(gate):
            away = sit(gate) != home
            before = signal.signal(signal.SIGUSR1, lambda *_: log.append(where() == home))
            return away, before, signal.getsignal(signal.SIGUSR1) is not before

        with Gate() as gate:
            try:
                teach(listen, gate)
                task = spawn(listen, gate)
                schedule()
                gate.open()
                away, _, changed = task.result()
                os.kill(os.getpid(), signal.SIGUSR1)
                while not log:
                    schedule()
            finally:
                signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        return away, changed, log

    assert run(main) == (True, True, [True])


def test_the_descriptor_for_signals_is_set_in_every_thread():
    """By signal.set_wakeup_fd(), as trio does; a signal is written to it."""

    def main():
        home = where()

        def listen(gate):
            away = sit(gate) != home
            before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
            return away, before

        with Gate() as gate:
            teach(listen, gate)
            task = spawn(listen, gate)
            schedule()
            gate.open()
            found = task.result()
        signal.raise_signal(signal.SIGUSR1)
        return (*found, os.read(reader, 9), signal.set_wakeup_fd(-1) == writer)

    reader, writer = os.pipe()
    for end in reader, writer:
        os.set_blocking(end, False)
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        assert run(main) == (True, writer, bytes([signal.SIGUSR1]), True)
    finally:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGUSR1, before)
        os.close(reader)
        os.close(writer)


def test_another_thread_than_the_first_sets_no_handlers():
    """Wherever its scheduler is: ValueError, as without loomlet."""

    def main():
        def listen(gate):
            sit(gate)
            with pytest.raises(ValueError, match="main thread"):
                signal.signal(signal.SIGUSR1, signal.SIG_DFL)
            with pytest.raises(ValueError, match="main thread"):
                signal.set_wakeup_fd(-1)
            return "refused"

        with Gate() as gate:
            found = [teach(listen, gate)]
            task = spawn(listen, gate)
            schedule()
            gate.open()
            return [*found, task.result()]

    results = queue.SimpleQueue()
    thread = threading.Thread(target=lambda: results.put(run(main)))
    thread.start()
    thread.join()
    assert results.get() == ["refused"] * 2


def test_thread_locals_end_with_their_thread():
    """Though threads stand by that have carried its scheduler."""
    local, values = threading.local(), []

    class Value:
        pass

    def main():
        with Gate() as gate:
            teach(sit, gate)
            teach(sit, gate)

    def thread():
        local.value = Value()
        values.append(weakref.ref(local.value))
        run(main)

    runs = threading.Thread(target=thread)
    runs.start()
    runs.join()
    assert values[0]() is None


@pytest.mark.busy_fork
def test_a_program_that_forks():
    """The child of a tasklet that is somewhere else."""

    def main():
        with Gate() as gate:

            def fork():
                sit(gate)
                child = loomlet.current()
                process = os.fork()
                if process == 0:
                    code = 7 if loomlet.current() is child and spawn(int, "3").result() == 3 else 1
                    os._exit(code)
                return os.waitpid(process, 0)[1] >> 8

            teach(sit, gate)
            tasks = [spawn(fork) for _ in range(3)]
            spawn(lambda: [gate.open() for _ in tasks])
            return [task.result() for task in tasks]

    assert run(main) == [7, 7, 7]


def test_the_interpreter_ends(python):
    """With carriers that stand by."""
    done = python(
        """
        import ctypes, os, sys, loomlet
        sys.settrace(None)
        libc = ctypes.CDLL(None)

        def sit(n):
            libc.usleep(20_000)
            os.write(1, b"%d " % n)

        def main():
            for task in [loomlet.spawn(sit, n) for n in range(5)]:
                task.join()

        loomlet.run(main, slice=0.001, handoff=True)
        print("over")
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.split()) == ["0", "1", "2", "3", "4", "over"]


def test_signals_reach_python(python):
    """While main sits: after the call, as with threads; by os.kill() from a tasklet elsewhere."""
    done = python(
        """
        import ctypes, os, signal, sys, loomlet
        sys.settrace(None)
        libc = ctypes.CDLL(None)
        reader, writer = os.pipe()
        buffer = ctypes.create_string_buffer(1)

        def main():
            loomlet.spawn(lambda: (os.kill(os.getpid(), signal.SIGINT), os.write(writer, b"x")))
            while True:
                libc.read(reader, buffer, 1)
                loomlet.schedule()

        try:
            loomlet.run(main, slice=0.001, handoff=True)
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


def test_that_they_wait_for_their_thread_is_reported(python):
    """Once for each call that does not return: who sits there, where, and who waits for it."""
    done = python(
        """
        import ctypes, io, os, sys, loomlet
        sys.settrace(None)
        libc, buffer = ctypes.CDLL(None), ctypes.create_string_buffer(1)
        reader, writer = os.pipe()
        channel = loomlet.Channel()
        shown, sys.stderr = sys.stderr, io.StringIO()

        def sit():
            channel.send(None)
            libc.read(reader, buffer, 1)

        def end():
            while not sys.stderr.getvalue():
                loomlet.sleep(0.01)
            os.write(writer, b"x")

        def main():
            loomlet.spawn(sit).name = "ann"
            loomlet.spawn(end)
            sorted([1], key=lambda _: channel.receive() or 1)

        loomlet.run(main, slice=0.001, handoff=True)
        print(sys.stderr.getvalue(), end="")
        sys.stderr = shown
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    reported, call, held = done.stdout.splitlines()
    words = "a tasklet is held up by a C call in the thread that keeps its stack"
    assert reported == f"loomlet: {words}:"
    assert call.startswith("  the call: ann: C call at ") and call.endswith(" in sit")
    assert held.startswith("  held up: main: runnable at ")
