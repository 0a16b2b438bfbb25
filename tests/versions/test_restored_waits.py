"""A tasklet that is put back into its wait may find that there is nothing to wait for any more.

The thing it waits for has moved on since it was frozen: a partner is there, the channel is closed,
the tasklet has ended, the lock is free.  Then it is runnable, with the outcome that waiting would
have had.  What cannot be waited for is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import loomlet
from loomlet import Channel, ChannelClosed, Lock, TaskGroup, Tasklet, ThawError, _core

pytestmark = pytest.mark.skipif(
    not _core.SOFT_SUPPORTED, reason="freezing needs soft switching, which this Python has not"
)


def receives(ch: Channel) -> Any:
    return "returned", ch.receive()


def loops(ch: Channel) -> Any:
    found = []
    for value in ch:
        found.append(value)
    return found


def sends(ch: Channel) -> Any:
    return "returned", ch.send("sent")  # type: ignore[func-returns-value]


def selects(ch: Channel) -> Any:
    return "returned", loomlet.select([ch, (Channel(), 1)])


def suspended(call: Callable[[Channel], Any]) -> Tasklet:
    """A copy of a tasklet in that call, paused: its wait is still to be restored."""
    task = loomlet.spawn(call, Channel())
    loomlet.schedule()
    copy: Tasklet = _core._tasklet_empty(Tasklet)
    _core._tasklet_fill(copy, _core._tasklet_snapshot(task), False)
    task.kill()
    return copy


def restored(call: Callable[[Channel], Any], *wait: Any, value: Any = None) -> Any:
    """What the copy returns after that wait; it must be runnable at once."""
    copy = suspended(call)
    _core._tasklet_wait(copy, wait, value)
    assert copy.state == "runnable"
    return copy.result()


def offering(value: Any) -> Channel:
    """A channel at which a sender waits."""
    ch = Channel()
    loomlet.spawn(ch.send, value)
    loomlet.schedule()
    return ch


def wanting() -> tuple[Channel, Tasklet]:
    """A channel at which a receiver waits."""
    ch = Channel()
    task = loomlet.spawn(ch.receive)
    loomlet.schedule()
    return ch, task


def closed() -> Channel:
    ch = Channel()
    ch.close()
    return ch


def test_a_sender_waits_by_now() -> None:
    """Its value is taken, and it returns."""
    assert restored(receives, "receive", offering(5), None) == ("returned", 5)


def test_a_receiver_waits_by_now() -> None:
    """It gets the value."""
    ch, task = wanting()
    assert restored(sends, "send", ch, None, value="sent") == ("returned", None)
    assert task.result() == "sent"


def test_a_channel_that_was_closed() -> None:
    """The error, or the end of the loop."""
    for call, kind in ((receives, "receive"), (sends, "send")):
        with pytest.raises(ChannelClosed):
            restored(call, kind, closed(), None, value=1)
    assert restored(loops, "iterate", closed(), None) == []


def test_a_select_with_a_case_that_is_ready() -> None:
    """The first one that is."""
    cases = ((Channel(), False, None), (offering(6), False, None))
    assert restored(selects, "select", cases, None) == ("returned", (1, 6))
    ch, task = wanting()
    cases = ((Channel(), False, None), (ch, True, "offered"))
    assert restored(selects, "select", cases, 1000) == ("returned", (1, None))
    assert task.result() == "offered"


def test_a_select_with_a_closed_channel() -> None:
    """The error names it."""
    ch = closed()
    with pytest.raises(ChannelClosed) as caught:
        restored(selects, "select", ((Channel(), False, None), (ch, False, None)), None)
    assert caught.value.channel is ch


def test_a_tasklet_that_has_ended() -> None:
    """Its result, or only that it has ended."""
    task = loomlet.spawn(lambda: "its result")
    task.join()
    assert restored(receives, "join", task, None, True) == ("returned", "its result")
    assert restored(receives, "join", task, 1000, False) == ("returned", None)


def test_a_tasklet_that_has_failed() -> None:
    """Its exception."""
    task = loomlet.spawn(int, "x")
    with pytest.raises(ValueError):
        task.result()
    with pytest.raises(ValueError):
        restored(receives, "join", task, None, True)


def test_a_lock_that_is_free() -> None:
    """It holds the lock."""
    lock = Lock()
    assert restored(receives, "acquire", lock, None) == ("returned", True)
    assert lock.locked()


def test_a_group_without_children() -> None:
    """Nothing is left to wait for."""
    assert restored(receives, "group", TaskGroup()) == ("returned", None)


@pytest.mark.parametrize(
    "wait",
    [
        (),
        ("receive",),
        ("receive", 5, None),
        ("listen", Channel(), None),
        ("join", Channel(), None, True),
        ("group", Lock()),
        ("acquire", Channel(), None),
        ("select", (), None),
        ("select", (Channel(),), None),
        ("select", ((5, False, None),), None),
        (5, Channel(), None),
        "receive",
        None,
    ],
)
def test_what_is_no_wait_is_refused(wait: Any) -> None:
    """The tasklet is still paused then."""
    copy = suspended(receives)
    with pytest.raises(ThawError):
        _core._tasklet_wait(copy, wait, None)
    assert copy.state == "paused"
    copy.kill()


@pytest.mark.parametrize("wait", [("receive", Channel(), "soon"), ("sleep", "long")])
def test_a_time_that_is_none_is_refused(wait: Any) -> None:
    """TypeError, and the tasklet is still paused."""
    copy = suspended(receives)
    with pytest.raises(TypeError):
        _core._tasklet_wait(copy, wait, None)
    assert copy.state == "paused"
    copy.kill()


def test_only_a_paused_one_waits_again() -> None:
    """A tasklet that has ended, or waits already, is refused."""
    ch, task = wanting()
    for one in (task, _core._tasklet_empty(Tasklet)):
        with pytest.raises(ThawError):
            _core._tasklet_wait(one, ("receive", ch, None), None)
    ch.send(1)
    assert task.result() == 1
