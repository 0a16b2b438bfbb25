"""Tasklets in scopes, groups, locks, joins, channels and handlers of exceptions, for the bytes.

See helpers_programs.py for what may change in here.
"""

from __future__ import annotations

from typing import Any

from helpers_programs import (
    FROZEN,
    KEY,
    LONG,
    Program,
    blocked,
    give,
    held_by,
    holds,
    receives,
    start_holding,
)

import loomlet
from loomlet import CancelScope, Channel, Lock, TaskGroup, _core, errors, timeout
from loomlet.testing import Sequencer

# ---- scopes and groups


def in_scopes(ch):
    seen = []
    with CancelScope() as outer:
        with CancelScope(shield=True) as inner:
            seen.append(ch.receive())
            inner.cancel()
            try:
                ch.receive()
            finally:
                seen.append("left")
        seen.append(ch.receive())
        outer.cancel()
        ch.receive()
    return seen, outer.cancelled_caught, inner.cancelled_caught


def in_timeouts(ch):
    try:
        with timeout(LONG) as outer, timeout(0.0001):
            loomlet.sleep(LONG)
    except TimeoutError as error:
        with timeout(LONG):
            return ch.receive(), str(error), outer.cancelled_caught


def at_the_end_of_a_group(ch):
    with TaskGroup() as group:
        group.spawn(receives, ch)
        group.spawn(receives, ch)
    return "all children have ended"


def in_the_body_of_a_group(ch):
    with TaskGroup() as group:
        first = group.spawn(receives, ch)
        with CancelScope():
            got = ch.receive()
    return got, first.result()


def in_a_group_in_a_group(ch):
    with TaskGroup() as outer:
        outer.spawn(at_the_end_of_a_group, ch)
        with TaskGroup() as inner:
            inner.spawn(receives, ch)
    return "both groups have ended"


def in_a_group_that_fails(ch):
    try:
        with TaskGroup() as group:
            group.spawn(receives, ch)
            group.spawn(receives, ch)
            raise ValueError("of the body")
    except ExceptionGroup as failures:
        got = ch.receive()
        return repr(failures), got


def use_group(task: Any) -> Any:
    """Serves everything that waits in or below a group."""
    values = iter(range(100))
    for _ in range(20):
        for each in _core.tasklets():
            if each.waiting_in == "receive":
                each.waiting_for.send(next(values))
        loomlet.schedule()
    return task.result()


def use_roots(tasks: Any) -> Any:
    """The same for the first of several."""
    return use_group(tasks[0])


FROZEN["scopes"] = Program(
    lambda: blocked(in_scopes, Channel()),
    lambda task: give(task, 1, 2).result(),
    ([1, "left", 2], True, True),
)
FROZEN["timeouts"] = Program(
    lambda: wait_until_blocked_in(blocked(in_timeouts, Channel()), "receive"),
    lambda task: give(task, 1).result()[::2],
    (1, False),
)
FROZEN["group-end"] = Program(
    lambda: blocked(at_the_end_of_a_group, Channel()),
    use_group,
    "all children have ended",
    {"with_partners": True},
)
FROZEN["group-body"] = Program(
    lambda: [blocked(in_the_body_of_a_group, Channel())],
    use_roots,
    (0, 1),
    {"with_partners": True},
)
FROZEN["group-child"] = Program(
    lambda: blocked(at_the_end_of_a_group, Channel()).waiting_for._children[0],
    lambda task: give(task, 5).result(),
    5,
)
FROZEN["group-nested"] = Program(
    lambda: blocked(in_a_group_in_a_group, Channel()),
    use_group,
    "both groups have ended",
    {"with_partners": True},
)
FROZEN["group-failed"] = Program(
    lambda: blocked(in_a_group_that_fails, Channel()),
    lambda task: give(task, 5).result(),
    ("ExceptionGroup('unhandled errors in a TaskGroup', [ValueError('of the body')])", 5),
)


def wait_until_blocked_in(task: Any, kind: str) -> Any:
    """The tasklet, when it waits in an operation of that kind."""
    while task.waiting_in != kind:
        loomlet.sleep(0.001)
    return task


# ---- locks, joins, channels, select, sleep


def in_a_lock(lock, ch):
    with lock:
        got = ch.receive()
    return got, lock.locked()


def waits_for_a_lock(lock):
    lock.acquire()
    lock.release()
    return "had the lock"


def joins(task):
    return "result", task.result()


def joins_for_a_time(task):
    task.join(timeout=LONG)
    return "joined"


def sends(ch, value):
    return ch.send(value)


def iterates(ch):
    return [value for value in ch]  # noqa: C416 - a loop is what is kept


def selects(one, other, answer):
    return loomlet.select([one, (other, answer)], timeout=LONG)


def sleeps():
    loomlet.sleep(0.01)
    return "awake"


def start_lock() -> Any:
    """One that holds it and two that wait."""
    lock, ch = Lock(), Channel()
    holder = blocked(in_a_lock, lock, ch)
    return [holder, blocked(waits_for_a_lock, lock), blocked(in_a_lock, lock, ch)]


def use_lock(tasks: Any) -> Any:
    """In the order in which they waited."""
    holder, waiter, last = tasks
    kinds = [task.waiting_in for task in tasks]
    give(holder, 1)
    waiter.join()
    loomlet.schedule()
    give(last, 2)
    return kinds, holder.result(), waiter.result(), last.result()


def start_joins() -> Any:
    """Two that wait for the end of one."""
    target = blocked(receives, Channel())
    return [target, blocked(joins, target), blocked(joins_for_a_time, target)]


def start_channel() -> Any:
    """Receivers of one channel in their order, and a sender of another."""
    ch = Channel()
    first, second = blocked(receives, ch), blocked(iterates, ch)
    return [second, first, blocked(sends, Channel(), ["value"])]


def use_channel(tasks: Any) -> Any:
    """The first receiver waits before the one that iterates."""
    iterating, first, sender = tasks
    got = sender.waiting_for.receive()
    ch = first.waiting_for
    for number in range(3):
        ch.send(number)
    ch.close()
    return first.result(), iterating.result(), got, sender.result()


def kept_channels() -> list[Any]:
    """Buffered, closed, with another preference, with a name."""
    buffered, closed, preferring = Channel(3), Channel(2), Channel()
    buffered.send("a")
    buffered.send(buffered)
    closed.send("last")
    closed.close()
    preferring.preference = 1
    return [buffered, closed, preferring, Channel(name="kept in old bytes")]


def look_at_channels(channels: Any) -> Any:
    """What kept_channels() has made of them."""
    buffered, closed, preferring, named = channels
    seen = [buffered.capacity, buffered.receive(), buffered.receive() is buffered]
    seen += [closed.closed, closed.receive(), preferring.preference]
    return [*seen, named is Channel(name="kept in old bytes")]


CHANNELS_SEEN = [3, "a", True, True, "last", 1, True]
FROZEN["lock"] = Program(
    start_lock,
    use_lock,
    (["receive", "acquire", "acquire"], (1, True), "had the lock", (2, False)),
)
FROZEN["join"] = Program(
    start_joins,
    lambda tasks: (give(tasks[0], 7), [task.result() for task in tasks])[1],
    [7, ("result", 7), "joined"],
)
FROZEN["channel-waiters"] = Program(
    start_channel, use_channel, (0, [1, 2], ["value"], None), {"with_partners": True}
)
FROZEN["channels"] = Program(
    lambda: start_holding(kept_channels()),
    lambda task: look_at_channels(held_by(task)),
    CHANNELS_SEEN,
)
FROZEN["select"] = Program(
    lambda: blocked(selects, Channel(), Channel(), "answer"),
    lambda task: (task.waiting_for[1].receive(), task.result()),
    ("answer", (1, None)),
)
FROZEN["sleep"] = Program(lambda: blocked(sleeps), lambda task: task.result(), "awake")


# ---- frames of functions of ours


def takes_its_turn(sequencer, position, ch):
    turn = sequencer(position)
    turn.__enter__()
    got = ch.receive()
    turn.__exit__(None, None, None)
    return position, got


def start_sequencer() -> Any:
    """One in its block, one that waits for its turn in two functions of loomlet.testing."""
    sequencer, ch = Sequencer(), Channel()
    return [blocked(takes_its_turn, sequencer, position, ch) for position in range(2)]


def use_sequencer(tasks: Any) -> Any:
    """The second waits for the end of the first."""
    first, second = tasks
    give(first, "a")
    loomlet.schedule()
    return first.result(), give(second, "b").result()


FROZEN["sequencer"] = Program(start_sequencer, use_sequencer, ((0, "a"), (1, "b")))


# ---- exceptions: being handled, on their way, held


def handles(kinds, ch):
    seen = []
    for kind in kinds:
        try:
            try:
                raise kind("first")
            except kind as error:
                raise kind("second") from error
        except kind as error:
            seen.append((type(error).__name__, error.args, error.__cause__.args, ch.receive()))
    return seen


def cleans_up(ch):
    seen = []
    try:
        try:
            ch.receive()
        finally:
            seen.append(ch.receive())
    except BaseException as error:
        return seen, type(error).__name__


def cleans_up_in_a_scope(ch):
    with CancelScope() as scope:
        scope.cancel()
        try:
            loomlet.sleep(LONG)
        finally:
            with CancelScope(shield=True):
                got = ch.receive()
    return got, scope.cancelled_caught


def start_clean_up() -> Any:
    """One that was killed, one whose channel is closed."""
    killed, refused = (blocked(cleans_up, Channel()) for _ in range(2))
    killed.throw(loomlet.TaskletExit)
    refused.throw(loomlet.ChannelClosed("thrown"))
    loomlet.schedule()
    return [killed, refused, blocked(cleans_up_in_a_scope, Channel())]


# Those that there were when bytes were first kept.
LATER = {"TaskletKilled"}
OURS = tuple(getattr(errors, name) for name in errors.__all__ if name not in LATER)


def raised() -> list[BaseException]:
    """Exceptions of every class of ours, with what they carry."""
    ch = Channel()
    found: list[BaseException] = [
        errors.ChannelClosed("channel", ch),
        errors.EndOfStream("stream", b"part"),
        errors.CodeChanged("code", "module", "name"),
        errors.DescriptorClosed(9, "descriptor"),
        *[kind(kind.__name__) for kind in OURS],
    ]
    try:
        try:
            ch.close()
            ch.receive()
        except errors.ChannelClosed as error:
            raise KeyError("outer") from error
    except KeyError as error:
        error.add_note("a note")
        found.append(error)
    try:
        loomlet.current().throw(errors.Cancelled)
    except errors.Cancelled as error:
        found.append(error)
    return found


def look_at_errors(found: Any) -> Any:
    """What is kept of each."""
    seen: list[Any] = [(type(error).__name__, error.args) for error in found[4:-2]]
    channel, stream, code, descriptor = found[:4]
    seen += [type(channel.channel), stream.partial, (code.module, code.qualname), descriptor.errno]
    outer = found[-2]
    trace, cause = outer.__traceback__, outer.__cause__
    seen += [outer.__notes__, trace.tb_frame.f_code.co_name, type(cause).__name__]
    return seen, cause.channel.closed, type(found[-1]).__name__


ERRORS_SEEN = (
    [
        *[(kind.__name__, (kind.__name__,)) for kind in OURS],
        Channel,
        b"part",
        ("module", "name"),
        9,
        ["a note"],
        "raised",
        "ChannelClosed",
    ],
    True,
    "Cancelled",
)
HANDLED = (
    errors.ChannelClosed,
    errors.Deadlock,
    errors.FreezeError,
    errors.ScopeError,
    errors.TaskletExit,
    errors.Cancelled,
)
FROZEN["handlers"] = Program(
    lambda: blocked(handles, HANDLED, Channel()),
    lambda task: give(task, *range(6)).result(),
    [(kind.__name__, ("second",), ("first",), n) for n, kind in enumerate(HANDLED)],
)
FROZEN["clean-up"] = Program(
    start_clean_up,
    lambda tasks: [give(task, 1).result() for task in tasks],
    [([1], "TaskletExit"), ([1], "ChannelClosed"), (1, True)],
)
FROZEN["errors"] = Program(
    lambda: start_holding(raised()), lambda task: look_at_errors(held_by(task)), ERRORS_SEEN
)


# ---- tasklets that do not wait, subclasses, signed bytes


def start_paused() -> Any:
    """Not begun, with a name, with a pending error, ended."""
    fresh = loomlet.spawn(divmod, 17, 5).remove()
    named = blocked(receives, Channel())
    named.name = "Ada"
    refused = blocked(receives, Channel())
    refused.waiting_for.close()
    refused.remove()
    return [fresh, named, refused, blocked(holds, ended_quietly(), Channel())]


def nothing():
    pass


def ended_quietly() -> Any:
    """A tasklet without a result."""
    task = loomlet.spawn(nothing)
    task.join()
    return task


def use_paused(tasks: Any) -> Any:
    """Each goes on in its way."""
    fresh, named, refused, holder = tasks
    seen = [fresh.insert().result(), named.name, give(named, 1).result()]
    try:
        refused.insert().result()
    except errors.ChannelClosed as error:
        seen.append(type(error.channel).__name__)
    return [*seen, give(holder, 3).result()[0].state]


FROZEN["paused"] = Program(
    start_paused,
    use_paused,
    [(3, 2), "Ada", 1, "Channel", "done"],
)
FROZEN["signed"] = Program(
    lambda: blocked(receives, Channel()),
    lambda task: give(task, 1).result(),
    1,
    {"key": KEY},
)
