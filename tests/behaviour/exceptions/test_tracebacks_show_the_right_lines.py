"""Tracebacks of tasklets name the lines where things happened."""

import traceback

import pytest

import loomlet
from loomlet import Channel


def leaf(ch):
    ch.receive()  # + 1
    raise ValueError("leaf")  # + 2


def middle(ch):
    leaf(ch)  # + 1


def generator(ch):
    yield 1
    ch.receive()  # + 2


def loop(ch):
    for _ in generator(ch):  # + 1
        pass


def through_c(ch):
    return sorted([1], key=lambda _: leaf(ch))  # + 1


def place(func, offset):
    return func.__name__, func.__code__.co_firstlineno + offset


def places(error):
    here = [(frame.name, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    return [found for found in here if found[0] not in ("places", "failure_of")]


def failure_of(task):
    with pytest.raises(Exception) as info:
        task.join()
    return info.value


def test_an_error_after_a_switch(mode, failures):
    """An exception raised after a suspension shows every function from the spawned one on."""
    ch = Channel()
    task = loomlet.spawn(middle, ch)
    loomlet.schedule()
    ch.send(None)
    loomlet.schedule()
    [(_, error)] = failures
    failures.clear()
    assert places(error) == [place(middle, 1), place(leaf, 2)]
    assert task.state == "done"


def test_an_error_thrown_in(mode, failures):
    """An exception thrown into a suspended tasklet shows the line of the blocking call."""
    task = loomlet.spawn(middle, Channel())
    loomlet.schedule()
    task.throw(KeyError("thrown"))
    [(_, error)] = failures
    failures.clear()
    assert places(error) == [place(middle, 1), place(leaf, 1)]


def test_an_error_thrown_into_a_generator(mode, failures):
    """The traceback goes through the generator that blocked."""
    task = loomlet.spawn(loop, Channel())
    loomlet.schedule()
    task.throw(KeyError("thrown"))
    [(_, error)] = failures
    failures.clear()
    assert places(error) == [place(loop, 1), place(generator, 2)]


def test_an_error_through_c_code(mode, failures):
    """The traceback goes through functions called by C code."""
    ch = Channel()
    loomlet.spawn(through_c, ch)
    loomlet.schedule()
    ch.send(None)
    loomlet.schedule()
    [(_, error)] = failures
    failures.clear()
    assert places(error) == [
        place(through_c, 1),
        ("<lambda>", place(through_c, 1)[1]),
        place(leaf, 2),
    ]


def test_join_adds_the_joiners_lines(mode):
    """Where it is joined, the exception gets the joiner's lines on top of the tasklet's."""
    ch = Channel()
    task = loomlet.spawn(middle, ch)

    def joiner():
        task.join()  # + 1

    waiting = loomlet.spawn(joiner)
    loomlet.schedule()
    ch.send(None)
    error = failure_of(waiting)
    assert places(error)[-3:] == [place(joiner, 1), place(middle, 1), place(leaf, 2)]


def test_a_multi_line_call(mode, failures):
    """In a call over several lines the line of the call itself is shown."""

    def body(ch):
        return [
            1,
            ch.receive(),  # + 3
            2,
        ]

    task = loomlet.spawn(body, Channel())
    loomlet.schedule()
    assert task._where()[1] == place(body, 3)[1]
    task.throw(KeyError)
    [(_, error)] = failures
    failures.clear()
    assert places(error) == [place(body, 3)]


def test_frames_of_a_traceback_keep_their_locals(mode, failures):
    """A debugger finds the locals of the failed tasklet's frames after its end."""

    def fail(ch):
        local = "kept"
        ch.receive()
        raise ValueError(local)

    ch = Channel()
    loomlet.spawn(fail, ch)
    loomlet.schedule()
    ch.send(None)
    loomlet.schedule()
    [(_, error)] = failures
    failures.clear()
    assert error.__traceback__.tb_frame.f_locals["local"] == "kept"
