"""Each tasklet has its own chain of frames."""

import sys

import loomlet.compat.stackless as stackless


def names(frame):
    """The functions of a frame chain, innermost first."""
    found = []
    while frame is not None:
        found.append(frame.f_code.co_name)
        frame = frame.f_back
    return found


def inner(func):
    return func()


def outer(func):
    return inner(func)


def test_the_chain_ends_in_the_tasklet(mode):
    """Spec 1, frame chain: f_back leads to the tasklet's function and no further."""
    seen = []
    stackless.tasklet(outer)(lambda: seen.extend(names(sys._getframe())))
    stackless.run()
    assert seen == ["<lambda>", "inner", "outer"]


def test_of_a_waiting_tasklet(mode):
    """Spec 3, tasklet.frame: the innermost Python frame, with its callers behind it."""
    ch = stackless.channel()
    task = stackless.tasklet(outer)(ch.receive)
    stackless.run()
    assert names(task.frame) == ["inner", "outer"]
    assert task.frame.f_locals["func"] == ch.receive
    ch.send(None)


def test_of_the_current_tasklet():
    """Spec 3, tasklet.frame: the frame that asks."""
    assert stackless.getcurrent().frame is sys._getframe()


def test_of_an_unbound_tasklet(mode):
    """Spec 3, tasklet.frame: None before the binding and after the end."""
    task = stackless.tasklet(lambda: None)
    assert task.frame is None
    task()
    stackless.run()
    assert task.frame is None
