"""Misuse raises CPython's errors with CPython's texts, in tasklets too."""

import threading

import pytest

from loomlet import schedule, spawn

WRONG = [
    {"blocking": False, "timeout": 1},
    {"timeout": -2},
    {"timeout": 1e300},
    {"timeout": float("nan")},
    {"timeout": "1"},
    {"wait": True},
    {"blocking": True, "timeout": None},
]


def message_of(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error)
    return None


@pytest.mark.parametrize("wrong", WRONG, ids=str)
@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
def test_arguments(make, wrong):
    """The same exceptions in a thread without tasklets and in a tasklet, and nothing is taken."""
    lock = make()
    in_thread = []
    thread = threading.Thread(target=lambda: in_thread.append(message_of(lock.acquire, **wrong)))
    thread.start()
    thread.join()
    assert in_thread[0] is not None
    assert spawn(message_of, lock.acquire, **wrong).result() == in_thread[0]
    assert spawn(lock.acquire, blocking=False).result()


def test_releasing_a_free_lock():
    """RuntimeError with CPython's message."""
    assert spawn(message_of, threading.Lock().release).result() == (
        "RuntimeError",
        "release unlocked lock",
    )
    assert spawn(message_of, threading.RLock().release).result() == (
        "RuntimeError",
        "cannot release un-acquired lock",
    )


def test_releasing_another_tasklets_rlock():
    """Only its owner may release an RLock; any tasklet may release a Lock."""
    rlock, lock = threading.RLock(), threading.Lock()

    def hold():
        with rlock:
            lock.acquire()
            schedule()

    task = spawn(hold)
    schedule()
    expected = ("RuntimeError", "cannot release un-acquired lock")
    assert message_of(rlock.release) == expected
    assert spawn(message_of, rlock.release).result() == expected
    lock.release()
    task.join()
    with rlock:
        assert spawn(message_of, rlock.release).result() == expected


def test_inside_a_callback_of_the_scheduler():
    """Where nothing may switch, a lock that this thread holds raises SwitchTrapped, soon."""
    rlock, seen = threading.RLock(), []

    class Ends:
        def __del__(self):
            seen.append(message_of(rlock.acquire))

    with rlock:
        task = spawn(id, Ends())  # the arguments go when it has ended
        task.join()
    assert [kind for kind, text in seen] == ["SwitchTrapped"]
