"""os.fork() beside threads that are tasklets: the child has only the thread that has forked."""

import pytest

BEGIN = """
    import os, sys, threading, time, warnings
    warnings.simplefilter("ignore")
    import loomlet
    from loomlet import patch
    patch.install(threads=True)
    def status(child):
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def check(python, program):
    """Runs it; all is well when it has printed that."""
    done = python(BEGIN + program, LOOMLET_STALL="0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "good\n", "")


def test_main_forks(python):
    """Threads that wait, sleep or are ready do not run in the child, and it can start others."""
    check(
        python,
        """
    def main():
        ran, go = [], threading.Event()
        bodies = [go.wait, lambda: time.sleep(0.01), loomlet.schedule]
        threads = [threading.Thread(target=lambda b=b: (b(), ran.append(b))) for b in bodies]
        for thread in threads:
            thread.start()
        child = os.fork()
        if not child:
            assert threading.enumerate() == [threading.main_thread()]
            assert not any(thread.is_alive() for thread in threads)
            go.set()
            time.sleep(0.05)
            assert ran == [], ran
            one = threading.Thread(target=ran.append, args=("new",))
            one.start()
            one.join()
            assert ran == ["new"]
            os._exit(7)
        assert status(child) == 7
        go.set()
        for thread in threads:
            thread.join()
        assert len(ran) == 3
        print("good")
    loomlet.run(main)
    """,
    )


@pytest.mark.parametrize("end", ["os._exit(7)", "sys.exit(7)"])
def test_a_thread_forks(python, end):
    """It is the child's main thread; main does not run there, and the child ends with it."""
    check(
        python,
        f"""
    seen, ran = [], []
    def body():
        child = os.fork()
        if not child:
            assert threading.main_thread() is threading.current_thread()
            ran.clear()
            time.sleep(0.02)
            assert ran == []
            {end}
        seen.append(status(child))
    def main():
        thread = threading.Thread(target=body)
        thread.start()
        loomlet.spawn(lambda: [(loomlet.sleep(0.001), ran.append(1)) for _ in range(1000)])
        while thread.is_alive():
            time.sleep(0.001)
            ran.append(1)
        assert seen == [7 if "os._exit" in {end!r} else 0], seen
        print("good")
    loomlet.run(main)
    """,
    )


def test_multiprocessing_by_fork(python):
    """A process that a thread starts, and its result."""
    check(
        python,
        """
    import multiprocessing
    context = multiprocessing.get_context("fork")
    def work(connection):
        time.sleep(0.001)
        connection.send(threading.current_thread().name)
    got = []
    def body():
        mine, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs,))
        process.start()
        got.append(mine.recv())
        process.join()
        got.append(process.exitcode)
    def main():
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        assert got[1] == 0, got
        print("good")
    loomlet.run(main)
    """,
    )


def test_a_child_of_multiprocessing_waits_for_its_threads(python):
    """For those that are no daemons, as it does with threads of the system."""
    check(
        python,
        """
    import multiprocessing
    context = multiprocessing.get_context("fork")
    def child(sink):
        def late():
            time.sleep(0.1)
            os.write(sink, b"late")
        def never():
            time.sleep(1000)
            os.write(sink, b"never")
        threading.Thread(target=late).start()
        threading.Thread(target=never, daemon=True).start()
    def main():
        source, sink = os.pipe()
        process = context.Process(target=child, args=[sink])
        process.start()
        process.join()
        assert process.exitcode == 0
        os.close(sink)
        assert os.read(source, 100) == b"late"
        print("good")
    loomlet.run(main)
    """,
    )
