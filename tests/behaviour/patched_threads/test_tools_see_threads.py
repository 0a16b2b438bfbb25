"""What looks at threads, or sets something for them, finds those that are tasklets."""

import _thread
import signal
import sys
import threading
import time

import pytest

import loomlet


def test_dumps_of_threads_show_their_frames():
    """sys._current_frames() has each thread under its ident, whichever of them asks."""

    def function(frame):
        """The one of ours that is innermost."""
        ours = {"waits", "asks", "main"}
        while frame.f_code.co_name not in ours:
            frame = frame.f_back
        return frame.f_code.co_name

    def functions():
        return {ident: function(frame) for ident, frame in sys._current_frames().items()}

    def waits():
        event.wait()

    def asks():
        seen.append(functions())

    def main():
        waiting, asking = (threading.Thread(target=each) for each in (waits, asks))
        waiting.start()
        loomlet.schedule()
        mine = threading.get_ident()
        assert functions() == {mine: "main", waiting.ident: "waits"}
        asking.start()
        asking.join()
        assert seen == [{mine: "main", waiting.ident: "waits", asking.ident: "asks"}]
        event.set()
        waiting.join()
        assert functions() == {mine: "main"}

    seen = []
    event = threading.Event()
    loomlet.run(main)


def test_reports_of_errors_show_what_threads_handle():
    """sys._current_exceptions() has what each thread handles, whichever of them asks."""

    def handled():
        found = sys._current_exceptions()
        each = {ident: one[1] if type(one) is tuple else one for ident, one in found.items()}
        # A thread of a pool may be left from a test before; it handles nothing.
        return {ident: one for ident, one in each.items() if one is not None or ident in known}

    def handles(error, then):
        try:
            raise error
        except KeyError:
            then()

    def main():
        def ask():
            go.wait()
            seen.append(handled())

        def let_ask():
            go.set()
            asking.join()

        mine = threading.get_ident()
        known.append(mine)
        waiting = threading.Thread(target=handles, args=[errors[0], event.wait])
        asking = threading.Thread(target=handles, args=[errors[1], ask])
        waiting.start()
        loomlet.schedule()
        assert handled() == {mine: None, waiting.ident: errors[0]}
        asking.start()
        handles(errors[2], let_ask)
        both = {waiting.ident: errors[0], asking.ident: errors[1]}
        assert seen == [{mine: errors[2], **both}]
        event.set()
        waiting.join()
        assert handled() == {mine: None}

    errors, seen, known = [KeyError(n) for n in range(3)], [], []
    event, go = threading.Event(), threading.Event()
    loomlet.run(main)


def test_native_ids_are_those_of_the_system():
    """Every thread has one, which tools of the system know: without handoff that of main's."""

    def main():
        thread = threading.Thread(target=lambda: seen.append(threading.get_native_id()))
        thread.start()
        thread.join()
        assert seen == [thread.native_id] == [threading.get_native_id()]
        assert type(thread.native_id) is int

    seen = []
    loomlet.run(main, handoff=False)


def test_raw_threads_are_counted_and_reported_as_threads(monkeypatch):
    """_thread._count() has them, and a report of a failure names the function."""
    reports = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: reports.append(report.err_msg))

    def fail():
        started.release()
        stopped.acquire()
        raise ValueError("of the thread")

    def main():
        count = _thread._count()
        _thread.start_new_thread(fail, ())
        started.acquire()
        assert _thread._count() == count + 1
        stopped.release()
        while _thread._count() > count:
            time.sleep(0.001)

    started, stopped = threading.Lock(), threading.Lock()
    started.acquire()
    stopped.acquire()
    loomlet.run(main)
    assert [report.partition("<")[0].strip() for report in reports] == [
        "Exception ignored in thread started by"
    ]


def test_signals_that_a_thread_blocks_reach_the_others():
    """The thread of the system is that of all; multiprocessing's own threads block all signals."""
    seen = []

    def block():
        seen.append(signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()))
        seen.append(signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGTERM}))
        with pytest.raises(TypeError):
            signal.pthread_sigmask(signal.SIG_BLOCK, 5)

    def main():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
        thread = threading.Thread(target=block)
        thread.start()
        thread.join()
        assert seen == [{*before, signal.SIGUSR2}] * 2
        assert signal.pthread_sigmask(signal.SIG_SETMASK, before) == {*before, signal.SIGUSR2}
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before

    loomlet.run(main)


@pytest.mark.skipif(not hasattr(threading, "settrace_all_threads"), reason="3.12 on")
@pytest.mark.parametrize("by_thread", [False, True], ids=["by main", "by a thread"])
@pytest.mark.parametrize("kind", ["trace", "profile"])
def test_trace_functions_are_set_in_all_threads(kind, by_thread):
    """threading.settrace_all_threads() reaches main and each thread that is a tasklet."""
    set_in_all = getattr(threading, f"set{kind}_all_threads")
    get = getattr(sys, f"get{kind}")

    def function(frame, event, argument):
        return None

    def main():
        found = []
        go = threading.Event()

        def waits():
            go.wait()
            found.append(get())

        waiting = threading.Thread(target=waits)
        waiting.start()
        before = get()
        try:
            if by_thread:
                setting = threading.Thread(target=set_in_all, args=[function])
                setting.start()
                setting.join()
            else:
                set_in_all(function)
            found.append(get())
            go.set()
            waiting.join()
        finally:
            set_in_all(before)
        return found

    assert loomlet.run(main) == [function, function]


def test_connections_to_sqlite_belong_to_a_thread():
    """To the one that made them; tasklets that are no threads share that of the system."""
    sqlite3 = pytest.importorskip("sqlite3")

    def use(connection):
        try:
            return connection.execute("select 1").fetchone()
        except sqlite3.ProgrammingError as error:
            return str(error).partition(" can only be used")[0]

    def main():
        mine, found = sqlite3.connect(":memory:"), []

        def work():
            own = sqlite3.connect(":memory:")
            found.extend([use(own), use(mine)])
            own.close()

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        found.append(loomlet.spawn(use, mine).result())
        mine.close()
        return found

    assert loomlet.run(main) == [(1,), "SQLite objects created in a thread", (1,)]
