"""Pools and locks of multiprocessing, and locks on files, in the threads of a program with handoff.

Each program runs under `python -m loomlet run --handoff`, which makes its threads tasklets.
"""

import pytest

BEGIN = """
import multiprocessing
import sys
import threading
import time

COUNT = 4

def square(number):
    return number * number

def in_threads(target, *args):
    threads = [threading.Thread(target=target, args=args) for _ in range(COUNT)]
    for thread in threads:
        thread.start()
    return threads

def join(threads):
    for thread in threads:
        thread.join()

"""
RUN = """
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    main()
    print("done")
"""
METHODS = pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])


@METHODS
def test_a_pool_of_processes(run_with_handoff, method):
    """Several threads ask it; it ends at the end of `with`, and by close() and join()."""
    text = """
def ask(pool, answers):
    answers.append(sum(pool.map(square, range(50))))
    answers.append(pool.apply_async(square, [3]).get(60))
    answers.append(sum(pool.imap_unordered(square, range(5))))

def main():
    answers = []
    with context.Pool(2) as pool:
        join(in_threads(ask, pool, answers))
    print(sorted(set(answers)), len(answers))
    with context.Pool(2) as pool:
        print(pool.map(square, range(3)))
        pool.close()
        pool.join()
"""
    printed = run_with_handoff(BEGIN + text + RUN, method)
    assert printed == "[9, 30, 40425] 12\n[0, 1, 4]\ndone\n"


@METHODS
def test_a_pool_of_a_manager(run_with_handoff, method):
    """Several threads ask it."""
    text = """
def main():
    answers = []
    with context.Manager() as manager, manager.Pool(2) as pool:
        join(in_threads(lambda: answers.append(sum(pool.map(square, range(20))))))
    print(answers)
"""
    printed = run_with_handoff(BEGIN + text + RUN, method)
    assert printed == "[2470, 2470, 2470, 2470]\ndone\n"


@METHODS
def test_locks_for_processes_between_threads(run_with_handoff, method):
    """One thread at a time has the Lock and the RLock; a Condition and an Event wake all."""
    text = """
class Inside:
    now = most = 0

    def __enter__(self):
        self.now += 1
        self.most = max(self.most, self.now)

    def __exit__(self, *error):
        self.now -= 1

def work(lock, rlock, condition, event, inside, here):
    with lock, inside:
        time.sleep(0.001)
    with rlock, rlock, inside:
        time.sleep(0.001)
    with condition:
        here.append(None)
        condition.notify_all()
        condition.wait_for(lambda: len(here) > COUNT)
    event.wait()
    here.append(None)

def main():
    inside, here = Inside(), []
    condition, event = context.Condition(), context.Event()
    threads = in_threads(work, context.Lock(), context.RLock(), condition, event, inside, here)
    with condition:
        condition.wait_for(lambda: len(here) == COUNT)
        here.append(None)
        condition.notify_all()
    event.set()
    join(threads)
    print(inside.most <= 2, len(here))
"""
    printed = run_with_handoff(BEGIN + text + RUN, method)
    assert printed == "True 9\ndone\n"


def test_flock_between_threads(run_with_handoff, tmp_path):
    """Each has its own descriptor, and waits in a lock that another thread has."""
    printed = run_with_handoff(
        """
        import fcntl, sys, threading, time

        def work():
            with open(sys.argv[1], "w") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                inside.append(None)
                time.sleep(0.001)
                seen.append(len(inside))
                inside.pop()
                fcntl.flock(file, fcntl.LOCK_UN)

        inside, seen = [], []
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(seen)
        """,
        str(tmp_path / "lock"),
    )
    assert printed == "[1, 1, 1, 1]\n"


def test_lockf_against_a_process(run_with_handoff, tmp_path):
    """A thread waits for a lock that a process has, until another thread lets that end."""
    printed = run_with_handoff(
        """
        import fcntl, subprocess, sys, threading

        HOLD = '''if True:
            import fcntl, sys
            file = open(sys.argv[1], "w")
            fcntl.lockf(file, fcntl.LOCK_EX)
            print("has it", flush=True)
            sys.stdin.read()
        '''

        def wait():
            with open(sys.argv[1], "w") as file:
                asked.set()
                fcntl.lockf(file, fcntl.LOCK_EX)
                log.append("locked")

        def let_go():
            asked.wait()
            log.append("ended")
            holder.communicate()

        log, asked = [], threading.Event()
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD, sys.argv[1]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        holder.stdout.readline()
        threads = [threading.Thread(target=wait), threading.Thread(target=let_go)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(log)
        """,
        str(tmp_path / "lock"),
    )
    assert printed == "['ended', 'locked']\n"
