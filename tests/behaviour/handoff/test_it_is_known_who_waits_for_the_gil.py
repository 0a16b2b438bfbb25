"""A thread that waits for the GIL sits in no call, so it must be known whether one waits.

The C library has the number, and each version of it keeps it at another place.
"""

import _thread
import sys
import time

import pytest
from helpers_c_calls import run

from loomlet import _core


@pytest.fixture
def long_turns():
    """A thread that only computes keeps the GIL."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(before)


@pytest.mark.skipif(not _core._has_gil(), reason="there is no GIL to wait for")
def test_each_thread_that_waits_is_counted(long_turns):
    """In many rounds, because there are words beside it that only grow."""
    run(lambda: None)
    for waiting in (1, 2, 3) * 30:
        ended = []
        for _ in range(waiting):
            _thread.start_new_thread(ended.append, (None,))
        while _core._gil_waiters() < waiting:
            pass
        assert _core._gil_waiters() == waiting
        while len(ended) < waiting:
            time.sleep(0.0001)  # lets them have it
        assert _core._gil_waiters() == 0
