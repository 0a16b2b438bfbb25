"""Tools that look into a program, or run it, in programs whose threads are tasklets.

Each program runs under `python -m loomlet run`.
"""

import os
import re
import subprocess
import sys
import textwrap

import pytest

COUNT = 3


def test_pdb(run_program):
    """A breakpoint after a wait in each of several threads."""
    done = run_program(
        """
        import threading
        import time

        def work(number):
            time.sleep(0.01)
            with lock:
                breakpoint()
                number += 100
                print("number", number)

        lock = threading.Lock()
        threads = [threading.Thread(target=work, args=[number]) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        """,
        typed="next\nnext\np 'seen', number\nwhere\ncontinue\n" * COUNT,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(re.findall(r"'seen', (\d+)", done.stdout)) == ["100", "101", "102"]
    assert sorted(re.findall(r"^(?:\(Pdb\) )*number (\d+)", done.stdout, re.M)) == [
        "100",
        "101",
        "102",
    ]


def test_tracemalloc(run_program):
    """Each thread's memory is found on the line that took it, while all of them hold it."""
    done = run_program(
        """
        import threading
        import tracemalloc

        COUNT, SIZE = 20, 100_000

        def work():
            barrier.wait()
            kept = bytearray(SIZE)  # here
            barrier.wait()
            barrier.wait()
            return kept

        tracemalloc.start(5)
        barrier = threading.Barrier(COUNT + 1)
        threads = [threading.Thread(target=work) for _ in range(COUNT)]
        for thread in threads:
            thread.start()
        barrier.wait()
        barrier.wait()
        snapshot = tracemalloc.take_snapshot()
        barrier.wait()
        for thread in threads:
            thread.join()
        with open(__file__) as file:
            line = [number for number, text in enumerate(file, 1) if "# here" in text][0]
        found = [
            each
            for each in snapshot.statistics("lineno")
            if each.traceback[0].filename == __file__ and each.traceback[0].lineno == line
        ]
        print(found[0].size >= COUNT * SIZE, found[0].size < (COUNT + 1) * SIZE)
        """
    )
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr


def test_faulthandler(run_program, tmp_path):
    """It writes the frames of a thread that has waited, when asked and when it computes long.

    It reads them while they run; where C code calls Python's meanwhile, as io.open() does, even
    a plain interpreter crashes now and then.  So the loop here calls nothing of that kind.
    """
    done = run_program(
        """
        import faulthandler
        import os
        import sys
        import threading
        import time

        def inner():
            time.sleep(0.01)
            faulthandler.dump_traceback(sys.stdout, all_threads=False)
            sys.stdout.flush()
            end = time.monotonic() + 30
            with open(sys.argv[1], "w+") as file:
                faulthandler.dump_traceback_later(0.05, file=file)
                while not os.stat(sys.argv[1]).st_size:
                    assert time.monotonic() < end
                faulthandler.cancel_dump_traceback_later()  # waits for the rest of it

        def outer():
            inner()

        thread = threading.Thread(target=outer)
        thread.start()
        thread.join()
        """,
        str(tmp_path / "later"),
    )
    assert done.returncode == 0, done.stderr
    for text in (done.stdout, (tmp_path / "later").read_text()):
        assert re.search(r"line \d+ in inner\n.*line \d+ in outer\n", text), text


TESTS = """
    import threading
    import time
    import pytest

    @pytest.mark.parametrize("number", range(6))
    def test_a_thread_answers(number):
        answers = []
        thread = threading.Thread(target=lambda: (time.sleep(0.01), answers.append(number)))
        thread.start()
        thread.join()
        assert answers == [number]
"""

HANGING = """
    @pytest.mark.timeout(0.5)
    def test_hangs():
        threading.Event().wait()

    def test_after():
        pass
"""


@pytest.fixture
def run_pytest(tmp_path):
    """Runs pytest itself on a file of tests."""

    def run(tests, *options):
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        (tmp_path / "test_small.py").write_text(textwrap.dedent(tests))
        return subprocess.run(
            [sys.executable, "-m", "loomlet", "run", "-m", "pytest", *options],
            cwd=tmp_path,
            env={name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


def test_pytest(run_pytest):
    """Tests that use threads pass."""
    done = run_pytest(TESTS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 6 passed" in done.stdout


def test_pytest_timeout_by_a_signal(run_pytest):
    """The test that hangs fails, the others pass."""
    pytest.importorskip("pytest_timeout")
    done = run_pytest(TESTS + HANGING, "--timeout-method=signal")
    assert done.returncode == 1, done.stdout + done.stderr
    assert " 1 failed, 7 passed" in done.stdout


def test_pytest_timeout_by_a_thread(run_pytest):
    """It ends the process and names the line that hangs."""
    pytest.importorskip("pytest_timeout")
    done = run_pytest(TESTS + HANGING, "--timeout-method=thread")
    printed = done.stdout + done.stderr
    assert done.returncode == 1, printed
    assert "+ Timeout +" in printed
    assert "in test_hangs" in printed


def test_pytest_xdist(run_pytest):
    """Two workers share the tests."""
    pytest.importorskip("xdist")
    done = run_pytest(TESTS, "--numprocesses=2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 workers" in done.stdout
    assert " 6 passed" in done.stdout
