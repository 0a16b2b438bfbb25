"""C code may look at the ident of a thread that is a tasklet, as at that of any thread.

trio names its worker threads by pthread_setname_np(thread.ident, ...).  The idents were small
numbers then, and the process ended by a signal, without a word.
"""

import signal
import threading
import time

import pytest

import loomlet

ctypes = pytest.importorskip("ctypes")

LIBRARY = ctypes.CDLL(None, use_errno=True)


def in_thread(function):
    """What a function that gets the ident of its thread returns there."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function(threading.get_ident())))
    thread.start()
    thread.join()
    return found[0]


def with_waiting_thread(function):
    """What a function returns that gets a thread which waits."""

    def main():
        end = threading.Event()
        thread = threading.Thread(target=end.wait)
        thread.start()
        try:
            return function(thread)
        finally:
            end.set()
            thread.join()

    return loomlet.run(main)


def call(name, *arguments):
    """The error number that a function of the C library returns."""
    function = getattr(LIBRARY, name, None)
    if function is None:
        pytest.skip(f"no {name} here")
    return function(*arguments)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("pthread_setname_np", lambda: [b"name"]),
        ("pthread_getname_np", lambda: [ctypes.create_string_buffer(64), ctypes.c_size_t(64)]),
        ("pthread_kill", lambda: [int(signal.SIGUSR1)]),
        ("pthread_getcpuclockid", lambda: [ctypes.create_string_buffer(64)]),
        ("pthread_setschedprio", lambda: [0]),
        (
            "pthread_getschedparam",
            lambda: [ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)],
        ),
    ],
)
def test_the_c_library_answers_with_an_error(name, more):
    """Nothing was done, and the process lives."""

    def asked(thread):
        return call(name, ctypes.c_ulong(thread.ident), *more())

    assert with_waiting_thread(asked) > 0


def test_the_c_library_sees_processors():
    """A thread that has ended for the library is the calling one for the kernel."""

    def asked(thread):
        given = ctypes.create_string_buffer(1024)
        return call("pthread_getaffinity_np", ctypes.c_ulong(thread.ident), 1024, given), given.raw

    code, processors = with_waiting_thread(asked)
    assert code == 0
    assert any(processors)


def test_idents_tell_threads_apart():
    """Of all that live, and of main."""

    def main():
        end = threading.Event()
        threads = [threading.Thread(target=end.wait) for _ in range(500)]
        for thread in threads:
            thread.start()
        idents = {thread.ident for thread in threads}
        end.set()
        for thread in threads:
            thread.join()
        return idents | {threading.get_ident()}

    assert len(loomlet.run(main)) == 501


def test_a_thread_that_has_ended_stays_ended_when_its_ident_is_given_out_again():
    """A join of the first returns, although another runs by its ident."""

    def main():
        first = threading.Thread(target=int)
        first.start()
        first.join()
        for _ in range(30_000):
            end = threading.Event()
            later = threading.Thread(target=end.wait)
            later.start()
            same = later.ident == first.ident
            if same:
                first.join()
                alive.append((first.is_alive(), later.is_alive()))
            end.set()
            later.join()
            if same:
                break

    alive = []
    loomlet.run(main)
    assert alive == [(False, True)]


def test_a_signal_for_one_is_handled_in_main():
    """By signal.pthread_kill()."""
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(threading.current_thread()))
    try:

        def kill(thread):
            signal.pthread_kill(thread.ident, signal.SIGUSR1)
            deadline = time.monotonic() + 60
            while not seen and time.monotonic() < deadline:
                loomlet.schedule()

        with_waiting_thread(kill)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [threading.main_thread()]


@pytest.mark.parametrize(
    "ask",
    [lambda ident: signal.pthread_kill(ident, 0), time.pthread_getcpuclockid],
    ids=["signal", "clock"],
)
def test_one_that_has_ended_is_no_thread(ask):
    """The error is the system's own."""

    def main():
        ident = in_thread(lambda ident: ident)
        with pytest.raises(ProcessLookupError):
            ask(ident)

    loomlet.run(main)


def test_its_clock_is_that_of_the_thread_that_runs_it():
    """time.pthread_getcpuclockid() of itself, and time.thread_time()."""

    def clocks(ident):
        clock = time.pthread_getcpuclockid(ident)
        before = time.thread_time()
        now = time.clock_gettime(clock)
        return before, now, time.thread_time()

    times = loomlet.run(lambda: in_thread(clocks))
    assert sorted(times) == list(times)


def test_another_thread_of_the_system_is_passed_on():
    """Both calls still take the idents of OS threads, and refuse anything else."""

    def main():
        me = threading.get_ident()
        signal.pthread_kill(me, 0)
        assert time.clock_gettime(time.pthread_getcpuclockid(me)) >= 0
        with pytest.raises(TypeError):
            signal.pthread_kill("me", 0)
        with pytest.raises(TypeError):
            time.pthread_getcpuclockid("me")
        with pytest.raises(TypeError):
            signal.pthread_kill(me)

    loomlet.run(main)


def test_sqlite_names_them():
    """What it says of a connection in another thread has the ident that Python code sees."""
    sqlite3 = pytest.importorskip("sqlite3")

    def use(connection):
        ident = threading.get_ident()
        with pytest.raises(sqlite3.ProgrammingError) as info:
            connection.execute("select 1")
        return ident, str(info.value)

    def main():
        connection = sqlite3.connect(":memory:")
        try:
            return in_thread(lambda _: use(connection))
        finally:
            connection.close()

    ident, message = loomlet.run(main)
    assert f"this is thread id {ident}" in message
