"""sys._getframe() and f_back show the tasklet's functions and nothing below."""

import sys

import loomlet
from loomlet import Channel


def names():
    frame, found = sys._getframe(1), []
    while frame is not None:
        found.append(frame.f_code.co_name)
        frame = frame.f_back
    return found


def leaf(ch):
    before = names()
    ch.receive()
    return before, names()


def middle(ch):
    return leaf(ch)


def generator(ch):
    yield names()
    ch.receive()
    yield names()


def test_f_back_before_and_after_a_suspension(mode):
    """The chain ends at the function that was spawned, before and after a switch."""
    ch = Channel()
    task = loomlet.spawn(middle, ch)
    loomlet.schedule()
    ch.send(None)
    assert task.result() == (["leaf", "middle"], ["leaf", "middle"])


def test_f_back_through_c_code(mode):
    """C code between two functions does not break the chain."""

    def by_map(ch):
        return next(map(leaf, [ch]))

    ch = Channel()
    task = loomlet.spawn(by_map, ch)
    loomlet.schedule()
    ch.send(None)
    assert task.result() == (["leaf", "by_map"], ["leaf", "by_map"])


def test_f_back_out_of_a_generator(mode):
    """A generator's frame is linked to the frame that advances it, also after it blocked."""

    def loop(ch):
        return [found for found in generator(ch)]

    ch = Channel()
    task = loomlet.spawn(loop, ch)
    loomlet.schedule()
    ch.send(None)
    before, after = task.result()
    assert before == after
    assert before[0] == "generator"
    assert before[-1] == "loop"


def test_a_kept_frame_object_shows_the_suspended_tasklet(mode):
    """A frame object taken earlier shows locals and line while its tasklet is suspended."""

    def show(ch, frames):
        here = "before"
        frames.append(sys._getframe())
        here = ch.receive()
        return here

    ch, frames = Channel(), []
    task = loomlet.spawn(show, ch, frames)
    loomlet.schedule()
    assert frames[0].f_locals["here"] == "before"
    assert frames[0].f_lineno == show.__code__.co_firstlineno + 3
    assert frames[0].f_back is None
    ch.send("after")
    assert task.result() == "after"
    assert frames[0].f_locals["here"] == "after"


def test_other_tasklets_do_not_appear(mode):
    """A tasklet resumed by another one does not see it in its chain."""
    ch, found = Channel(), []

    def waits():
        ch.receive()
        found.append(names())

    def wakes():
        ch.send(None)
        loomlet.schedule()

    loomlet.spawn(waits)
    loomlet.spawn(wakes).join()
    assert found == [["waits"]]
