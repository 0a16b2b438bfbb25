"""What the standard library builds on builtin locks works between tasklets of one thread."""

import contextlib
import io
import logging
import queue
import threading

import loomlet
from loomlet import schedule, spawn


def test_condition(mode):
    """wait() lets the others have the lock; notify() wakes, with the lock taken back."""
    condition, ready, log = threading.Condition(), [], []

    def consume():
        with condition:
            condition.wait_for(lambda: ready)
            log.append(ready.pop())

    def produce():
        for n in range(3):
            with condition:
                ready.append(n)
                condition.notify()
            schedule()

    tasks = [spawn(consume) for _ in range(3)] + [spawn(produce)]
    for task in tasks:
        task.join()
    assert sorted(log) == [0, 1, 2]


def test_a_condition_gives_back_all_levels(mode):
    """wait() inside a twice taken RLock frees it wholly and takes it twice again."""
    condition, lock = threading.Condition(), None
    lock = condition._lock

    def wait():
        with condition, condition:
            condition.wait()
            return lock._recursion_count()

    task = spawn(wait)
    schedule()
    with condition:
        condition.notify()
        schedule()
    assert task.result() == 2


def test_event_semaphore_and_barrier(mode):
    """The other primitives of threading."""
    event, semaphore, barrier, log = (
        threading.Event(), threading.Semaphore(2), threading.Barrier(3), [])  # fmt: skip

    def work():
        event.wait()
        with semaphore:
            log.append("in")
            schedule()
            log.append("out")
        return barrier.wait()

    tasks = [spawn(work) for _ in range(3)]
    schedule()
    event.set()
    assert sorted(task.result() for task in tasks) == [0, 1, 2]
    assert log == ["in", "in", "out", "out", "in", "out"] or log.count("in") == 3


def test_bounded_queue(mode):
    """queue.Queue: put waits for room, get for an item, join for task_done."""
    line, got = queue.Queue(2), []

    def produce():
        for n in range(20):
            line.put(n)

    def consume():
        while True:
            got.append(line.get())
            line.task_done()

    producer = spawn(produce)
    consumers = [spawn(consume) for _ in range(2)]
    producer.join()
    line.join()
    assert sorted(got) == list(range(20))
    for consumer in consumers:
        consumer.kill()


class Slow(io.StringIO):
    """A stream that lets others run in the middle of a line."""

    def write(self, text):
        for character in text:
            super().write(character)
            with contextlib.suppress(loomlet.SwitchTrapped):
                schedule()
        return len(text)


def test_logging_keeps_lines_whole(mode):
    """A handler's lock is held by one tasklet while it writes."""
    stream = Slow()
    logger = logging.Logger("test")
    logger.addHandler(logging.StreamHandler(stream))
    tasks = [spawn(logger.warning, "%s", str(n) * 20) for n in range(5)]
    for task in tasks:
        task.join()
    lines = stream.getvalue().splitlines()
    assert sorted(lines) == [str(n) * 20 for n in range(5)]


def test_an_error_handler_may_log(failures, mode):
    """The error handler of a dying tasklet waits for a lock that another tasklet holds."""
    stream = Slow()
    logger = logging.Logger("test")
    logger.addHandler(logging.StreamHandler(stream))

    def fail():
        raise KeyError("lost")

    loomlet.set_error_handler(lambda task, error: logger.error("%s %r", task.name, error))
    talker, loser = spawn(logger.warning, "a long line"), spawn(fail)
    loser.name = "loser"
    schedule()
    while loser.state != "done":
        schedule()
    talker.join()
    assert stream.getvalue() == "a long line\nloser KeyError('lost')\n"
