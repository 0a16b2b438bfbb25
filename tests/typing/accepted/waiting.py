"""Event, Semaphore, Condition, Barrier; several functions at once; ticks of the clock."""

from typing import assert_type

import loomlet
from loomlet import (
    Barrier,
    Channel,
    Condition,
    Event,
    Lock,
    Semaphore,
    Sender,
    Stall,
    TaskGroup,
    TaskStatus,
    Ticker,
    after,
    fail_after,
    gather,
    move_on_after,
    on_stall,
    race,
    select,
    ticker,
)


def waiting() -> None:
    """The names and results of threading."""
    event = Event()
    event.set()
    assert_type(event.wait(timeout=1), bool)
    with Semaphore(2) as taken:
        assert_type(taken, bool)
    assert_type(Semaphore(1, max_value=1).acquire(False), bool)
    with Condition(Lock()) as held:
        assert_type(held, bool)
    assert_type(Condition().wait(0.1), bool)
    Condition().notify(2)
    assert_type(Barrier(3, action=event.clear, timeout=1).wait(), int)


def together(names: list[str]) -> None:
    """The results are those of the functions."""
    assert_type(loomlet.map(len, names, limit=3), list[int])
    print(gather(lambda: 1, lambda: "one"), race(lambda: 1, lambda: 2))


def passing() -> int:
    """What comes after a block that may be left early can be reached."""
    with move_on_after(1) as scope:
        return 1
    assert_type(scope.cancelled_caught, bool)
    return 2


def in_time() -> int:
    """A block that raises when it is late needs no return behind it."""
    with fail_after(1):
        return 1


def ticking(jobs: Channel[str]) -> None:
    """Channels of the clock beside others."""
    with ticker(0.5) as ticks:
        assert_type(ticks, Ticker)
        index, _ = select([jobs, ticks, after(3), None], closed=None)
        assert_type(index, int)


def serve(port: int, *, task_status: TaskStatus[int]) -> None:
    """It says that it has started."""
    task_status.started(port)


def starting(jobs: Channel[str]) -> None:
    """The value that it started with; a channel with several senders."""
    with TaskGroup(limit=3) as group:
        print(group.start(serve, 80))
    with Sender(jobs) as sender:
        sender.send("job")


def note(stall: Stall) -> None:
    """What held the thread, and for how long."""
    assert_type(stall.seconds, float)


on_stall(note)
