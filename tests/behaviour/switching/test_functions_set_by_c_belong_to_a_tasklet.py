"""PyEval_SetTrace() and PyEval_SetProfile() set by what the running tasklet is traced; no other is.

Tools written in C call them, and nothing reports it to loomlet.
"""

import ctypes
import sys
import threading

import pytest

from loomlet import Channel, schedule, spawn

FUNCTION = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.c_void_p
)
SET = {
    "trace": (ctypes.pythonapi.PyEval_SetTrace, sys.gettrace, "settrace"),
    "profile": (ctypes.pythonapi.PyEval_SetProfile, sys.getprofile, "setprofile"),
}


@FUNCTION
def note(seen, frame, what, arg):
    """What the interpreter calls: the object that was set gets the names of the functions."""
    seen.append(frame.f_code.co_name)
    return 0


class Tool:
    def __init__(self, which):
        self.set, self.get, self.hook = SET[which]
        self.set.argtypes = FUNCTION, ctypes.py_object

    def on(self):
        """Begins; returns the list of what is seen, which is the tool's object."""
        seen = []
        self.set(note, seen)
        return seen

    def off(self):
        getattr(sys, self.hook)(None)


@pytest.fixture(params=list(SET))
def tool(request):
    """What was on in the test's own tasklet is put back."""
    tool = Tool(request.param)
    before = tool.get()
    tool.off()
    yield tool
    getattr(sys, tool.hook)(before)


def work_of_first(ch):
    return ch.receive()


def work_of_second():
    schedule()


def test_one_is_traced_another_is_not(tool, mode):
    """Main and another take turns with one that has set it."""
    ch = Channel()

    def first():
        seen = tool.on()
        found = [tool.get() is seen]
        work_of_first(ch)
        found.append(tool.get() is seen)
        sorted([1], key=lambda _: work_of_first(ch) or 0)
        tool.off()
        schedule()
        return seen, [*found, tool.get() is None]

    def second():
        found = []
        for _ in range(6):
            work_of_second()
            found.append(tool.get())
        return found

    tasks = [spawn(first), spawn(second)]
    for _ in range(2):
        schedule()
        assert tool.get() is None
        ch.send(1)
    seen, found = tasks[0].result()
    assert found == [True] * 3
    assert tasks[1].result() == [None] * 6
    assert seen.count("work_of_first") >= 4
    assert "work_of_second" not in seen


@pytest.mark.parametrize("waits", [True, False])
def test_it_ends_with_its_tasklet(tool, mode, waits):
    """Left on, also by one that never waited."""

    def body():
        seen = tool.on()
        if waits:
            schedule()
        return seen

    assert spawn(body).result() != []
    assert tool.get() is None
    assert spawn(tool.get).result() is None


def test_of_main(tool, mode):
    """It stays main's, whatever others set meanwhile."""

    def child():
        tool.off()
        mine = tool.on()
        schedule()
        return mine, tool.get()

    seen = tool.on()
    tasks = [spawn(child) for _ in range(2)]
    results = [task.result() for task in tasks]
    still = tool.get()
    tool.off()
    assert still is seen
    assert all(mine is at_end for mine, at_end in results)
    assert len({id(mine) for mine, _ in results} | {id(seen)}) == 3


def test_a_spawned_tasklet_begins_with_its_spawners(tool, mode):
    """Where there is nothing else for new threads of control."""
    seen = tool.on()
    task = spawn(tool.get)
    result = task.result()
    tool.off()
    assert result is seen


def test_or_with_what_new_threads_begin_with(tool, mode):
    """A tool that sets something for new threads keeps a record per thread of control."""
    begun = []

    def hook(frame, event, arg):
        begun.append(frame.f_code.co_name)

    before = getattr(threading, f"get{tool.hook[3:]}")()
    getattr(threading, tool.hook)(hook)
    try:
        seen = tool.on()
        task = spawn(work_of_second)
        schedule()
        mine = tool.get()
        tool.off()
        task.join()
    finally:
        getattr(threading, tool.hook)(before)
    assert mine is seen
    assert "work_of_second" in begun
    assert "work_of_second" not in seen


def test_switching_is_as_fast_as_before_when_it_is_off(tool, switches):
    """Soft again, and by the common way."""

    def traced():
        tool.on()
        schedule()
        tool.off()

    spawn(traced).join()
    switches.take()
    tasks = [spawn(lambda: [schedule() for _ in range(10)]) for _ in range(2)]
    for task in tasks:
        task.join()
    soft, hard = switches.take()
    assert (soft >= 20, hard) == (True, 0)
