"""A tasklet that holds its thread while others wait is reported on stderr while it does."""

import re

import pytest

import loomlet
from loomlet import observe

PROGRAM = """
import ctypes, sys, threading, time
import loomlet
from loomlet import observe

usleep = ctypes.PyDLL(None).usleep  # does not release the GIL

def in_c(call):
    call()

def other():
    while True:
        loomlet.schedule()

def main():
    loomlet.on_stall(lambda stall: None)
    {before}
    with loomlet.nopreempt():  # main is not ready to run while the call lasts
        task = loomlet.spawn(in_c, {call})
        task.name = "the bad one"
        print("ready", flush=True)
        task.join()

loomlet.run(main, slice=0.005)
"""
KEEPS_GIL = "lambda: usleep(500000)"
LINE = PROGRAM.splitlines().index("    call()") + 1


def stderr_of(process):
    """Runs the program to its end and returns its stderr, which has reports of stalls only."""
    _, text = process.communicate(timeout=60)
    assert process.returncode == 0
    assert re.fullmatch(r"(loomlet: tasklet .* has held .*\n(  called at .*\n)*)*", text), text
    return text


@pytest.mark.parametrize("call", [KEEPS_GIL, "lambda: time.sleep(0.5)"])
def test_a_stall_is_reported_once(begin, call):
    """With the tasklet, the duration, the innermost functions and their lines."""
    text = stderr_of(
        begin(PROGRAM.format(before="loomlet.spawn(other)", call=call), LOOMLET_STALL="0.1")
    )
    found = re.findall(  # where the machine itself stalls, there are others
        r"^loomlet: tasklet the bad one has held its thread for (\d+\.\d) s "
        r"while other tasklets wait \(1\): "
        r"<string>:\d+ in main.<locals>.<lambda>\n"
        rf"  called at <string>:{LINE} in in_c$",
        text,
        re.MULTILINE,
    )
    assert len(found) == 1, text
    assert 0.1 <= float(found[0]) <= 30


def test_it_comes_while_python_is_stuck(begin):
    """Before the call has ended: the GIL is not needed."""
    call = "lambda: ctypes.PyDLL(None).sleep(15)"
    program = PROGRAM.format(before="loomlet.spawn(other)", call=call)
    process = begin(program, LOOMLET_STALL="0.1")
    start = "loomlet: tasklet the bad one has held"
    assert any(line.startswith(start) for line in process.stderr)
    assert process.poll() is None


def test_uninterruptible_code_is_reported(begin):
    """A loop inside nopreempt() holds the thread like a call to C."""
    process = begin(
        """
        import time
        import loomlet

        def loop():
            end = time.monotonic() + 0.5
            with loomlet.nopreempt():
                while time.monotonic() < end:
                    pass

        def main():
            task = loomlet.spawn(loop)
            loomlet.spawn(loomlet.schedule)
            print("ready", flush=True)
            task.join()

        loomlet.run(main, slice=0.005)
        """,
        LOOMLET_STALL="0.1",
    )
    text = stderr_of(process)
    found = re.findall(r"loomlet: tasklet loop-\d+ has held its thread for .* in loop\n", text)
    assert len(found) == 1, text


AFTER_ANOTHER_THREAD = """
import threading, time
import loomlet
from loomlet._core import stats

def switches():
    counts = stats()
    return counts["soft"] + counts["hard"]

def spin():
    while not seen:
        pass

def first():
    loomlet.spawn(spin)
    before = switches()
    while switches() == before:  # until its slice has ended, and that of spin()
        pass
    seen.append(switches())

def turn():
    while switches() < seen[0]:
        loomlet.schedule()
    if switches() == seen[0]:
        began = time.monotonic()
        with loomlet.nopreempt():
            while time.monotonic() < began + 0.03:  # it is looked at several times meanwhile
                pass
        print("short" if time.monotonic() < began + 0.5 else "long")

def second():
    for task in [loomlet.spawn(turn) for _ in range(3)]:
        task.join()

def in_thread(main):
    thread = threading.Thread(target=loomlet.run, args=[main], kwargs={"slice": 0.005})
    thread.start()
    thread.join()

seen = []
print("ready", flush=True)
in_thread(first)
time.sleep(1.1)  # longer than LOOMLET_STALL, since its last slice ended
in_thread(second)
"""


def test_the_slices_of_an_ended_thread_are_no_stall(begin):
    """A new thread's tasklet runs after as many switches as the old one's after its last slice."""
    output, errors = begin(AFTER_ANOTHER_THREAD, LOOMLET_STALL="1").communicate(timeout=60)
    assert errors == "" or output == "long\n", errors


NO_STALL = {
    "it is alone": ("pass", "lambda: time.sleep(0.3)"),
    "they wait for it": ("loomlet.spawn(loomlet.Channel().receive)", "lambda: time.sleep(0.3)"),
    "they sleep for longer": ("loomlet.spawn(loomlet.sleep, 60)", "lambda: time.sleep(0.3)"),
    "it sleeps": ("pass", "lambda: loomlet.sleep(0.3)"),
    "a thread waits": (
        "threading.Thread(target=lambda: time.sleep(0.3)).start()",
        "lambda: loomlet.sleep(0.3)",
    ),
}


@pytest.mark.parametrize(("before", "call"), NO_STALL.values(), ids=NO_STALL.keys())
def test_nothing_is_reported_without_waiting_tasklets(begin, before, call):
    """Idle time is no stall, nor a call that delays no tasklet."""
    process = begin(PROGRAM.format(before=before, call=call), LOOMLET_STALL="0.25")
    assert stderr_of(process) == ""


def test_computing_is_no_stall(begin):
    """Python code yields; the machine itself must not stall for a second here."""
    call = "lambda end=time.time() + 1.2: [0 for _ in iter(lambda: time.time() < end, False)]"
    process = begin(PROGRAM.format(before="loomlet.spawn(other)", call=call), LOOMLET_STALL="1")
    assert stderr_of(process) == ""


def test_it_can_be_turned_off(begin):
    """LOOMLET_STALL=0, or report_stalls(None)."""
    before = "loomlet.spawn(other)"
    assert stderr_of(begin(PROGRAM.format(before=before, call=KEEPS_GIL), LOOMLET_STALL="0")) == ""
    before += "; observe.report_stalls(None)"
    assert (
        stderr_of(begin(PROGRAM.format(before=before, call=KEEPS_GIL), LOOMLET_STALL="0.1")) == ""
    )


def test_arguments_are_checked(python):
    """A number of seconds, from the program or the environment."""
    before = observe.report_stalls(2.5)
    assert observe.report_stalls(None) == 2.5
    assert observe.report_stalls(before) is None
    with pytest.raises(ValueError, match="expected a number of seconds > 0 or None, found 0"):
        observe.report_stalls(0)
    with pytest.raises(TypeError):
        observe.report_stalls("soon")
    assert observe.report_stalls(before) == before
    done = python("import loomlet", LOOMLET_STALL="soon")
    assert "LOOMLET_STALL takes a number of seconds, or 0, found 'soon'" in done.stderr
    assert loomlet.current().is_main
