"""A program in which every tasklet waits for ever gets Deadlock in its main tasklet."""

import inspect
import threading

import pytest

import loomlet
from loomlet import Channel


def line_of(func, offset):
    return f" at {__file__}:{func.__code__.co_firstlineno + offset} in {func.__qualname__}"


def address(ch):
    return f"<loomlet.Channel at {id(ch):#x} "


def test_the_main_tasklet_alone(mode):
    """Waiting for a value that no tasklet can send is a Deadlock, which is a RuntimeError."""
    with pytest.raises(RuntimeError) as info:
        Channel().receive()
    assert isinstance(info.value, loomlet.Deadlock)


def test_every_blocked_tasklet_is_listed(mode):
    """The message names each blocked tasklet, what it waits for, and file:line."""

    def receiver():
        a.receive()

    def sender():
        b.send(1)

    def looper():
        for _ in a:
            pass

    def chooser():
        loomlet.select([a, c])

    def joiner():
        tasks[0].join()

    def inner():
        c.receive()

    def nested():
        inner()

    def ended():
        pass

    a, b, c = Channel(), Channel(), Channel()
    tasks = [loomlet.spawn(f) for f in (receiver, sender, looper, chooser, joiner, nested, ended)]
    here = inspect.currentframe().f_lineno + 2
    with pytest.raises(loomlet.Deadlock) as info:
        c.receive()
    lines = [line.strip() for line in str(info.value).splitlines()[1:]]
    assert len(lines) == 7
    starts = [
        f"main: receive {address(c)}",
        f"{tasks[0].name}: receive {address(a)}",
        f"{tasks[1].name}: send {address(b)}",
        f"{tasks[2].name}: iterate {address(a)}",
        f"{tasks[3].name}: select {address(a)}",
        f"{tasks[4].name}: join {tasks[0]!r}",
        f"{tasks[5].name}: receive {address(c)}",
    ]
    assert [line[: len(start)] for line, start in zip(lines, starts, strict=True)] == starts
    ends = [
        f" at {__file__}:{here} in test_every_blocked_tasklet_is_listed",
        *(line_of(func, 1) for func in (receiver, sender, looper, chooser, joiner, inner)),
    ]
    assert [line[-len(end) :] for line, end in zip(lines, ends, strict=True)] == ends


def test_many_tasklets_at_one_line_are_counted():
    """The message of a thousand equal waits is short; other waits are listed beside them."""
    ch, other = Channel(), Channel()
    tasks = [loomlet.spawn(ch.receive) for _ in range(1000)]
    tasks += [loomlet.spawn(lambda: other.send(1)) for _ in range(3)]
    with pytest.raises(loomlet.Deadlock) as info:
        Channel().receive()
    lines = str(info.value).splitlines()
    assert len(lines) == 4
    assert lines[2].startswith(f"  {tasks[0].name}: receive {address(ch)}")
    assert lines[2].endswith(" (and 999 more at this line)")
    assert lines[3].endswith(" (and 2 more at this line)")


def test_equal_waits_are_one_line():
    """Those in the same operation at the same line for the same object; others are not."""
    ch, other = Channel(name="ch"), Channel(name="other")

    def waits(which):
        which.receive()

    for which in (ch, other, ch, ch):
        loomlet.spawn(waits, which)
    with pytest.raises(loomlet.Deadlock) as info:
        Channel().receive()
    lines = str(info.value).splitlines()
    assert len(lines) == 4
    assert "'ch'" in lines[2]
    assert lines[2].endswith(" (and 2 more at this line)")
    assert "'other'" in lines[3]


def test_no_more_than_a_hundred_lines():
    """What is left out is counted."""
    waits = [eval("\n" * n + "lambda ch: ch.receive()") for n in range(150)]
    for wait in waits:
        loomlet.spawn(wait, Channel())
        loomlet.spawn(wait, Channel())
    with pytest.raises(loomlet.Deadlock) as info:
        Channel().receive()
    lines = str(info.value).splitlines()
    assert len(lines) == 102
    assert lines[-1] == "  ... and 102 more tasklets"


class Counted(Channel):
    """Counts how often it is shown, which counts its waiters each time."""

    shown = 0

    def __repr__(self):
        Counted.shown += 1
        return super().__repr__()


def test_objects_are_shown_once_for_a_line(monkeypatch):
    """However many tasklets wait for one: the text is made in linear time."""
    monkeypatch.setattr(Counted, "shown", 0)
    ch = Counted()
    for _ in range(1000):
        loomlet.spawn(ch.receive)
    with pytest.raises(loomlet.Deadlock) as info:
        Channel().receive()
    assert Counted.shown == 1
    assert len(str(info.value)) < 1000


def test_a_group_of_many_children_is_short():
    """Its children are counted too."""
    ch = Channel()
    with pytest.raises(loomlet.Deadlock) as info, loomlet.TaskGroup() as group:
        for _ in range(1000):
            group.spawn(ch.receive)
    assert len(str(info.value)) < 2000


def test_the_program_can_continue(mode):
    """Deadlock leaves the other tasklets as they are; main may resolve it."""
    ch = Channel()
    task = loomlet.spawn(lambda: ch.receive())
    with pytest.raises(loomlet.Deadlock):
        Channel().receive()
    assert task.state == "blocked"
    ch.send("value")
    assert task.result() == "value"


def test_it_is_found_no_matter_which_tasklet_blocks_last(mode):
    """Main gets it also when another tasklet is the last one to wait, or to end."""

    def last(turns):
        for _ in range(turns):
            loomlet.schedule()
        if turns % 2:
            Channel().receive()

    for turns in (2, 3):
        task = loomlet.spawn(last, turns)
        with pytest.raises(loomlet.Deadlock):
            Channel().receive()
        task.kill()


def test_not_while_a_tasklet_sleeps(mode, clock):
    """A sleeping tasklet will wake, so there is no deadlock."""
    ch = Channel()

    def later():
        loomlet.sleep(1000)
        ch.send("value")

    loomlet.spawn(later)
    assert ch.receive() == "value"


def test_not_while_a_wait_has_a_deadline(mode, clock):
    """A wait with a timeout ends by itself."""
    ch = Channel()

    def later():
        with pytest.raises(TimeoutError):
            loomlet.select([Channel()], timeout=1000)
        ch.send("value")

    loomlet.spawn(later)
    assert ch.receive() == "value"


def test_not_while_another_thread_is_awake(mode):
    """A thread that does something else may still send: no Deadlock, the value arrives."""
    ch, go = Channel(), threading.Event()

    def thread():
        go.wait()
        ch.send("value")

    other = threading.Thread(target=thread)
    other.start()
    loomlet.spawn(go.set)
    assert ch.receive() == "value"
    other.join()


def test_when_the_other_threads_have_ended(mode):
    """After the last thread that could have sent is gone, waiting is a Deadlock."""
    ch = Channel()
    other = threading.Thread(target=lambda: ch.send("only one"))
    other.start()
    assert ch.receive() == "only one"
    with pytest.raises(loomlet.Deadlock):
        ch.receive()
    other.join()


def test_a_thread_that_sleeps_in_loomlet_does_not_count(mode):
    """Two threads that wait for each other in loomlet are deadlocked; one of them gets it."""
    a, b, seen = Channel(), Channel(), []

    def thread():
        try:
            a.receive()
            b.send("answer")
        except loomlet.Deadlock:
            seen.append("thread")
            b.send("thread gave up")

    other = threading.Thread(target=thread)
    other.start()
    try:
        assert b.receive() == "thread gave up"
    except loomlet.Deadlock:
        seen.append("main")
        a.send("continue")
        assert b.receive() == "answer"
    other.join()
    assert len(seen) == 1


def test_main_paused_for_ever(mode):
    """A main tasklet that switched away and is never inserted gets Deadlock too."""
    with pytest.raises(loomlet.Deadlock):
        loomlet.spawn(lambda: None).switch()
