"""What a trace function waits for, the whole thread waits for: no other tasklet runs meanwhile.

A debugger that has stopped waits there, and the others must not run past their breakpoints.
"""

import queue
import sys
import threading
import time

import pytest

import loomlet
from loomlet import _core

TOOLS = ["settrace", "setprofile", *(["monitoring"] if hasattr(sys, "monitoring") else [])]


def traced():
    """The function at which the tool is called."""


def call_by_monitoring(wait):
    monitoring, tool = sys.monitoring, 4
    start = monitoring.events.PY_START
    monitoring.use_tool_id(tool, "test")
    try:
        monitoring.register_callback(tool, start, lambda code, offset: wait())
        monitoring.set_local_events(tool, traced.__code__, start)
        traced()
        monitoring.set_local_events(tool, traced.__code__, 0)
        monitoring.register_callback(tool, start, None)
    finally:
        monitoring.free_tool_id(tool)


def call_by(tool, wait):
    """Calls traced() under that tool, which calls wait()."""
    if tool == "monitoring":
        call_by_monitoring(wait)
        return
    before = getattr(sys, tool.replace("set", "get"))()

    def tracer(frame, event, arg):
        if event == "call" and frame.f_code is traced.__code__:
            wait()

    getattr(sys, tool)(tracer)
    try:
        traced()
    finally:
        getattr(sys, tool)(before)


def wait_in_an_empty_queue():
    with pytest.raises(queue.Empty):
        queue.Queue().get(timeout=0.01)


WAITS = {
    "sleep": lambda: time.sleep(0.01),
    "event": lambda: threading.Event().wait(0.01),
    "lock": lambda: [lock.acquire(timeout=0.01) for lock in [threading.Lock()] * 2],
    "queue": wait_in_an_empty_queue,
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_others_do_not_run(tool, wait):
    """One that is ready runs afterwards."""
    seen = []

    def watch():
        loomlet.spawn(seen.append, "other")
        wait()
        seen.append("waited")

    def body():
        call_by(tool, watch)
        loomlet.schedule()

    loomlet.run(lambda: loomlet.spawn(body).join())
    assert seen == ["waited", "other"]


@pytest.mark.parametrize("kind", [threading.Lock, threading.RLock])
def test_a_lock_of_another_tasklet_is_waited_for(kind):
    """Its holder must run, or nothing would go on."""
    seen = []

    def holder(lock):
        with lock:
            loomlet.schedule()
            seen.append("released")

    def main():
        lock = kind()
        task = loomlet.spawn(holder, lock)
        loomlet.schedule()
        call_by("settrace", lambda: seen.append(lock.acquire()))
        task.join()

    loomlet.run(main)
    assert seen == ["released", True]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_thread_that_is_started_there_is_one_of_the_system(tool):
    """It can be waited for, because it runs while the thread of the tasklets stands."""
    done = []

    def watch():
        thread = threading.Thread(target=lambda: done.append(_core._tasklet_name()))
        thread.start()
        thread.join()
        done.append("joined")

    loomlet.run(lambda: loomlet.spawn(call_by, tool, watch).join())
    assert done == ["main", "joined"]
