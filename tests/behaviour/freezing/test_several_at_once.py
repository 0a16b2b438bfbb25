"""Tasklets frozen together share what they shared; partners are included only on request."""

import subprocess
import sys

import pytest
from helpers_frozen_tasklets import waiting

import loomlet
from loomlet import Channel


def puts(ch, log, name):
    got = ch.receive()
    log.append((name, got))
    return log


def gives(ch, value):
    ch.send(value)
    return value


def test_a_list_comes_back_as_a_list():
    """One tasklet as itself, several in their order."""
    ch, log = Channel(), []
    tasks = [waiting(puts, ch, log, name) for name in "abc"]
    copies = loomlet.thaw(loomlet.freeze(iter(tasks)))
    assert [copy.state for copy in copies] == ["blocked"] * 3
    inner = copies[0].waiting_for
    for value in range(3):
        inner.send(value)
    assert [copy.result() for copy in copies][2] == [("a", 0), ("b", 1), ("c", 2)]
    assert copies[0].result() is copies[1].result()
    assert log == []
    assert loomlet.thaw(loomlet.freeze([])) == []
    assert isinstance(loomlet.thaw(loomlet.freeze([tasks[0]])), list)


def test_partners_are_left_out_by_default():
    """Other tasklets that wait on the same channel are not frozen too."""
    ch, log = Channel(), []
    first, _ = waiting(puts, ch, log, "a"), waiting(puts, ch, log, "b")
    copy = loomlet.thaw(loomlet.freeze(first))
    assert copy.waiting_for.balance == -1


@pytest.mark.parametrize("at", [0, 1, 2])
def test_partners_come_along(at):
    """All that wait on its channels, in the order of the queue, whichever tasklet is frozen."""
    ch, log = Channel(), []
    tasks = [waiting(puts, ch, log, name) for name in "abc"]
    copy = loomlet.thaw(loomlet.freeze(tasks[at], with_partners=True))
    inner = copy.waiting_for
    assert inner.balance == -3
    for value in range(3):
        inner.send(value)
    assert copy.result() == [("a", 0), ("b", 1), ("c", 2)][: at + 1] or loomlet.schedule() is None
    loomlet.schedule()
    assert copy.result() == [("a", 0), ("b", 1), ("c", 2)]


def test_waiting_senders_come_along():
    """Senders keep their values and their order."""
    ch = Channel()
    tasks = [waiting(gives, ch, n) for n in range(3)]
    copy = loomlet.thaw(loomlet.freeze(tasks[1], with_partners=True))
    inner = copy.waiting_for
    assert [inner.receive() for _ in range(3)] == [0, 1, 2]
    assert copy.result() == 1


def test_buffers_and_settings():
    """A channel with values in it, closed or not, of a subclass."""
    one = Own(3)
    one.mark = ["mark"]
    one.preference = -1
    one.send("a")
    one.send("b")
    task = waiting(lambda ch: (ch.receive(), one), Channel())
    copy = loomlet.thaw(loomlet.freeze(task))
    copy.waiting_for.send(None)
    other = copy.result()[1]
    assert (type(other), other.mark, other.preference) == (Own, ["mark"], -1)
    assert [other.receive(), other.receive()] == ["a", "b"]
    assert len(one) == 2


class Own(Channel):
    """A class of the program."""


def test_closed_channels():
    """Closed stays closed, with what is left in it."""
    ch = Channel(2)
    ch.send("left")
    ch.close()

    def body(go):
        go.receive()
        return list(ch)

    task = loomlet.thaw(loomlet.freeze(waiting(body, Channel())))
    task.waiting_for.send(None)
    assert task.result() == ["left"]


def test_tasklets_that_know_each_other():
    """A circle of tasklets in variables, each of them found once."""
    know = {}

    def body(name, ch):
        ch.receive()
        return name, sorted(know), know[name] is loomlet.current()

    know["one"] = waiting(body, "one", Channel())
    know["two"] = waiting(body, "two", Channel())
    copy = loomlet.thaw(loomlet.freeze(know["one"]))
    copy.waiting_for.send(None)
    assert copy.result() == ("one", ["one", "two"], True)


def test_a_tasklet_that_has_ended_in_a_variable():
    """Comes back ended, unless its result would be lost."""
    plain, valued = loomlet.spawn(bool, 0), loomlet.spawn(int, 5)
    nothing = loomlet.spawn([].clear)
    loomlet.schedule()

    def body(task, ch=Channel()):  # noqa: B008
        ch.receive()
        return task.state

    copy = loomlet.thaw(loomlet.freeze(waiting(body, nothing)))
    copy.waiting_for.send(None)
    assert copy.result() == "done"
    for task in (plain, valued):
        with pytest.raises(loomlet.FreezeError, match="its result would be lost"):
            loomlet.freeze(waiting(body, task))


def test_a_channel_that_only_the_wait_holds():
    """The wait keeps it, as the call did."""

    def body():
        return Channel().receive()

    copy = loomlet.thaw(loomlet.freeze(waiting(body)))
    copy.waiting_for.send(5)
    assert copy.result() == 5


def test_stackless_tasklets_in_a_fresh_process():
    """Their types are found although the process has not imported the Stackless API."""
    freeze = (
        "import sys, loomlet, loomlet.compat.stackless as stackless\n"
        "task = stackless.tasklet(id, (stackless.tasklet(len),))\n"
        "sys.stdout.buffer.write(loomlet.freeze(task))\n"
    )
    thaw = (
        "import sys, loomlet\n"
        "made = loomlet.thaw(sys.stdin.buffer.read())\n"
        "inner = loomlet._core._tasklet_snapshot(made)[1][0]\n"
        "print(type(made).__name__, made.alive, inner.tempval is len)\n"
    )
    frozen = subprocess.run([sys.executable, "-c", freeze], capture_output=True, check=True)
    command = [sys.executable, "-c", thaw]
    done = subprocess.run(command, input=frozen.stdout, capture_output=True, check=True)
    assert done.stdout.decode().split() == ["tasklet", "True", "True"]
