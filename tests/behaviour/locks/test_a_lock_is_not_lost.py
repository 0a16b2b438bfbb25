"""An exception that reaches main just when it was given a lock: somebody else gets the lock."""

import threading

import pytest

import loomlet
from loomlet import schedule, spawn


@pytest.mark.parametrize("make", [loomlet.Lock, threading.Lock, threading.RLock])
@pytest.mark.parametrize("acquire", [lambda lock: lock.acquire(), lambda lock: lock.__enter__()])
def test_main_is_to_exit(make, acquire):
    """The tasklet that releases the lock ends the program."""
    loomlet.run(schedule)  # from the first run() on, tasklets can wait for the locks of threading
    lock = make()

    def leave():
        lock.acquire()
        schedule()
        lock.release()
        raise SystemExit

    spawn(leave)
    schedule()
    with pytest.raises(SystemExit):
        acquire(lock)
    assert spawn(lambda: lock.acquire(timeout=0)).result()
