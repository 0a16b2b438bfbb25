"""`python -m loomlet run`: a program with threads ends as it does under plain python."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import queue, sys, threading, time
    from concurrent.futures import ThreadPoolExecutor

    lock, jobs, total = threading.Lock(), queue.Queue(maxsize=3), 0
    local = threading.local()

    def work():
        global total
        local.sum = 0
        while (n := jobs.get()) is not None:
            local.sum += n
            time.sleep(0.0001)
            jobs.task_done()
        with lock:
            total += local.sum

    def late():
        time.sleep(0.05)
        print("late", threading.current_thread().name)

    def main():
        workers = [threading.Thread(target=work, daemon=True) for _ in range(4)]
        for worker in workers:
            worker.start()
        for n in range(100):
            jobs.put(n)
        jobs.join()
        for worker in workers:
            jobs.put(None)
        for worker in workers:
            worker.join()
        print(total, threading.active_count())
        with ThreadPoolExecutor(3) as pool:
            print(sum(pool.map(lambda n: n * n, range(10))))
        threading.Thread(target=late, name="last").start()
        pool = ThreadPoolExecutor(1)
        pool.submit(time.sleep, 0.01)
        pool.submit(print, "submitted")
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()

    if __name__ == "__main__":
        main()
        {end}
"""
OUTPUT = ["285", "4950 1", "late last", "submitted"]
KIND = """
    import threading
    import loomlet
    seen = []
    thread = threading.Thread(target=lambda: seen.append(loomlet.current().is_main))
    thread.start()
    thread.join()
    print(not seen[0])
"""


SPIN = """
    import threading

    def spin():
        print("begun", flush=True)
        while True:
            sum(range(1000))

    thread = threading.Thread(target=spin)
    thread.start()
    thread.join()
"""


@pytest.fixture
def run_file(tmp_path):
    """Runs a program from a file by `python` with these words before its name."""

    def run(program, *words):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(program))
        line = [sys.executable, "-W", "error", *words, str(path)]
        return subprocess.run(
            line, capture_output=True, text=True, check=False, timeout=120, env=os.environ
        )

    return run


@pytest.mark.parametrize(
    ("end", "status", "error"),
    [("pass", 0, ""), ("sys.exit(3)", 3, ""), ("raise KeyError('end')", 1, "KeyError: 'end'\n")],
    ids=["returns", "exits", "fails"],
)
@pytest.mark.parametrize(
    "words",
    [[], ["-m", "loomlet", "run"], ["-m", "loomlet", "run", "--os-threads"]],
    ids=["python", "tasklets", "os-threads"],
)
def test_all_its_work_is_done(run_file, words, end, status, error):
    """Threads that outlive main() may finish, daemons may not; the output is the same."""
    done = run_file(PROGRAM.format(end=end), *words)
    assert sorted(done.stdout.splitlines()) == OUTPUT
    assert done.stderr.endswith(error)
    assert done.returncode == status


def test_threads_are_tasklets_unless_asked(run_file):
    """The default, and --os-threads."""
    done = run_file(KIND, "-m", "loomlet", "run")
    assert (done.stdout, done.stderr) == ("True\n", "")
    done = run_file(KIND, "-m", "loomlet", "run", "--os-threads")
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_ctrl_c_while_a_thread_computes(tmp_path):
    """The signal finds a thread; KeyboardInterrupt ends the program all the same, by SIGINT."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(SPIN))
    line = [sys.executable, "-m", "loomlet", "run", str(path)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert b"KeyboardInterrupt" in printed
