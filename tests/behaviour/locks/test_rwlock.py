"""loomlet.sync.RWLock: many readers or one writer, in the order in which they come."""

import threading

import pytest

import loomlet
from loomlet import Deadlock, schedule, spawn
from loomlet.sync import RWLock
from loomlet.testing import explore, virtual_clock


def log_turn(side, log, name):
    with side:
        log.append(f"+{name}")
        schedule()
        log.append(f"-{name}")


def test_readers_together_and_a_writer_alone(mode):
    lock, log = RWLock(), []
    tasks = [
        spawn(log_turn, side, log, name)
        for side, name in [
            *((lock.reading, "r1"), (lock.reading, "r2"), (lock.writing, "w")),
            *((lock.reading, "r3"), (lock.reading, "r4")),
        ]
    ]
    for task in tasks:
        task.join()
    assert log == ["+r1", "+r2", "-r1", "-r2", "+w", "-w", "+r3", "+r4", "-r3", "-r4"]
    assert not lock.reading.locked()
    assert not lock.writing.locked()


def test_what_cannot_be_had_at_once(mode):
    lock = RWLock()
    with lock.reading:
        assert lock.reading.acquire(blocking=False)
        assert not lock.writing.acquire(blocking=False)
        lock.reading.release()
    with lock.writing:
        assert not lock.reading.acquire(timeout=0)
        assert not lock.writing.acquire(timeout=0)
    for side in (lock.reading, lock.writing):
        with pytest.raises(RuntimeError, match="not held"):
            side.release()


@pytest.mark.parametrize("end", ["kill", "time"])
def test_readers_go_on_when_the_writer_before_them_gives_up(mode, end):
    lock, log = RWLock(), []

    def write():
        if lock.writing.acquire(timeout=5):
            log.append("wrote")

    with virtual_clock(), lock.reading:
        writer = spawn(write)
        schedule()
        reader = spawn(log_turn, lock.reading, log, "r")
        schedule()
        assert log == []
        if end == "kill":
            writer.kill()
        else:
            loomlet.sleep(6)
        reader.join()
    assert log == ["+r", "-r"]
    with lock.writing:
        pass


@pytest.mark.parametrize("side", ["reading", "writing"])
def test_who_was_let_in_and_raises_gives_it_back(mode, side):
    lock, log = RWLock(), []
    lock.writing.acquire()
    tasks = [spawn(log_turn, getattr(lock, side), log, name) for name in "ab"]
    schedule()
    lock.writing.release()
    tasks[0].kill()
    tasks[1].join()
    assert log == ["+b", "-b"]
    assert lock.writing.acquire(blocking=False)


def test_threads_and_tasklets():
    """What is written is never seen in part."""
    lock, pair, seen = RWLock(), [0, 0], []

    def read():
        for _ in range(50):
            with lock.reading:
                seen.append(pair[0] == pair[1])

    def write():
        for _ in range(50):
            with lock.writing:
                pair[0] += 1
                schedule()
                pair[1] += 1

    def in_a_thread(work):
        work()
        ended.release()

    ended, works = loomlet.Semaphore(0), (read, write, read, write)
    threads = [threading.Thread(target=in_a_thread, args=[work]) for work in works]
    tasks = [spawn(work) for work in (read, write)]
    for thread in threads:
        thread.start()
    for task in tasks:
        task.join()
    for _ in threads:
        ended.acquire()  # the tasklets of this thread go on
    for thread in threads:
        thread.join()
    assert all(seen)
    assert (len(seen), pair) == (150, [150, 150])


def test_any_order_of_turns():
    def test():
        lock, inside = RWLock(), []

        def work(side, kind):
            with side:
                inside.append(kind)
                assert "w" not in inside or len(inside) == 1
                schedule()
                inside.remove(kind)

        tasks = [spawn(work, lock.reading, "r") for _ in range(2)]
        tasks += [spawn(work, lock.writing, "w") for _ in range(2)]
        killed = spawn(work, lock.writing, "w")
        tasks.append(spawn(work, lock.reading, "r"))
        schedule()
        if killed.state != "running" and "w" not in inside:
            killed.kill()
        for task in tasks:
            task.join()

    explore(test, seeds=range(40))


def test_who_waits_for_itself_hears_of_it():
    lock = RWLock()
    with lock.writing, pytest.raises(Deadlock, match="read"):
        lock.reading.acquire()


def test_errors_name_it_as_programs_do():
    """It is taken by its sides; what it has not is said of loomlet.sync.RWLock."""
    with pytest.raises(AttributeError, match=r"'loomlet\.sync\.RWLock' object has no .*'acquire'"):
        RWLock().acquire()
