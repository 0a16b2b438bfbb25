"""Processes, queues and managers of multiprocessing, shared by the threads of a program.

Each program runs under `python -m loomlet run`, which makes its threads tasklets.  One thread gets
from a queue: several wait for each other in C (docs/reference/patch.md).
"""

import pytest

BEGIN = """
import multiprocessing
import sys
import threading
import time

COUNT = 4

def start(target, *args):
    child = context.Process(target=target, args=args)
    child.start()
    return child

def in_threads(target, *args):
    threads = [threading.Thread(target=target, args=[*args, each]) for each in range(COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

"""
RUN = """
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    main()
"""
METHODS = pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])


@pytest.fixture
def run_processes(run_program, method):
    """Runs main() of a program text with a start method; returns what it printed."""

    def run(text):
        done = run_program(f"{BEGIN}{text}{RUN}", method)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@METHODS
def test_processes(run_processes):
    """Each thread starts one and joins it; another thread runs meanwhile."""
    printed = run_processes("""
def child(number, connection):
    connection.recv()
    sys.exit(number)

def work(codes, gate, number):
    here, there = context.Pipe()
    process = start(child, number, there)
    gate.wait(60)  # all of them run
    here.send("end")
    process.join()
    codes[number] = process.exitcode

def main():
    codes = [None] * COUNT
    in_threads(work, codes, threading.Barrier(COUNT))
    print(codes, multiprocessing.active_children())
""")
    assert printed == "[0, 1, 2, 3] []\n"


@METHODS
def test_queues(run_processes):
    """Threads put, a process gets, its own threads put the answers; a timeout ends a get()."""
    printed = run_processes("""
def child(asked, answered):
    numbers = [asked.get() for _ in range(COUNT)]
    in_threads(lambda each: (time.sleep(0.001), answered.put(numbers[each] + 100)))

def work(asked, number):
    time.sleep(0.001)
    asked.put(number)

def main():
    import queue
    asked, answered = context.Queue(), context.Queue()
    try:
        answered.get(timeout=0.01)
    except queue.Empty:
        print("empty")
    process = start(child, asked, answered)
    in_threads(work, asked)
    print(sorted(answered.get(timeout=60) for _ in range(COUNT)))
    process.join()
    print(process.exitcode)
""")
    assert printed == "empty\n[100, 101, 102, 103]\n0\n"


@METHODS
def test_managers(run_processes):
    """Threads and a process share a dict, a list, a lock and a queue of a manager."""
    printed = run_processes("""
def add(squares, numbers, lock, number):
    with lock:
        before = len(numbers)
        time.sleep(0.001)
        numbers.append(number)
        squares[number] = number * number
        assert len(numbers) == before + 1

def main():
    with context.Manager() as manager:
        squares, numbers, lock = manager.dict(), manager.list(), manager.Lock()
        process = start(add, squares, numbers, lock, COUNT)
        in_threads(add, squares, numbers, lock)
        process.join()
        print(sorted(squares.items()), sorted(numbers))
        waiting, got = manager.Queue(), []
        in_threads(lambda number: waiting.put(number))
        in_threads(lambda number: got.append(waiting.get(timeout=60)))
        print(sorted(got))
""")
    squares = [(number, number * number) for number in range(5)]
    assert printed == f"{squares} [0, 1, 2, 3, 4]\n[0, 1, 2, 3]\n"
