"""The core's snapshots of frames: invalid ones are refused, and never crash.

The snapshots of several suspended tasklets are changed in one number or one object at a time, as in
damaged or hostile bytes, and given back to the core.  Each is either refused with ThawError, and
the tasklet that was to be filled is still empty, or it is another valid snapshot.  A refused one
leaves no reference behind.
"""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import loomlet
from loomlet import Channel, ThawError, _core

pytestmark = [
    pytest.mark.skipif(
        not _core.SOFT_SUPPORTED, reason="freezing needs soft switching, which this Python has not"
    ),
    # Only snapshots of the tasklets are compared; the tasklets are dropped while blocked.
    pytest.mark.filterwarnings("ignore:tasklet .* was collected while blocked:ResourceWarning"),
]


def plain(ch: Channel) -> Any:
    first, second = 1, [2]
    return first, second, ch.receive()


def deep(ch: Channel, levels: int = 5) -> Any:
    return deep(ch, levels - 1) if levels else plain(ch)


def iterating(ch: Channel) -> Any:
    return [value for value in ch if value]


def closing_over(ch: Channel) -> Any:
    total = 0

    def add() -> int:
        nonlocal total
        total += ch.receive()
        return total

    return add() + total


def handling(ch: Channel) -> Any:
    try:
        raise KeyError("first")
    except KeyError:
        return ch.receive()


SHAPES = [plain, deep, iterating, closing_over, handling]


@pytest.fixture(params=SHAPES, ids=lambda shape: shape.__name__)
def suspended(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Channel]]:
    ch = Channel()
    task = loomlet.spawn(request.param, ch)
    loomlet.schedule()
    assert task.state == "blocked"
    yield task, ch
    task.kill()


def fill(snapshot: tuple[Any, ...]) -> _core.Tasklet:
    task: _core.Tasklet = _core._tasklet_empty(loomlet.Tasklet)
    _core._tasklet_fill(task, snapshot, False)
    return task


def replaced(parts: tuple[Any, ...], field: int, value: object) -> tuple[Any, ...]:
    return (*parts[:field], value, *parts[field + 1 :])


def with_frame(snapshot: tuple[Any, ...], at: int, frame: object) -> tuple[Any, ...]:
    return replaced(snapshot, 3, replaced(snapshot[3], at, frame))


def refused(snapshot: tuple[Any, ...]) -> None:
    task = _core._tasklet_empty(loomlet.Tasklet)
    with pytest.raises(ThawError):
        _core._tasklet_fill(task, snapshot, False)
    assert task.state == "done"


def test_a_snapshot_can_be_put_back(suspended: tuple[Any, Channel]) -> None:
    """A snapshot that is filled into a tasklet and read again is the same."""
    snapshot = _core._tasklet_snapshot(suspended[0])
    again = _core._tasklet_snapshot(fill(snapshot))
    assert again[:6] == snapshot[:6]


OWNER, FUNCTION, CODE, LOCALS, IP, OFFSET, MASK, VALUES = range(8)
WRONG: list[tuple[int, Any]] = [
    (OWNER, 1),
    (OWNER, "generator"),
    (FUNCTION, None),
    (FUNCTION, len),
    (CODE, "code"),
    (CODE, compile("1", "other", "eval")),
    (IP, -7),
    (IP, 1 << 20),
    (IP, 1 << 80),
    (IP, "1"),
    (OFFSET, -1),
    (OFFSET, 1 << 17),
    (OFFSET, None),
    (MASK, -1),
    (MASK, "0"),
    (VALUES, None),
    (VALUES, ()),
    (VALUES, tuple(range(1000))),
]


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_an_object_that_is_not_a_frame_is_refused(
    suspended: tuple[Any, Channel], field: int, value: Any
) -> None:
    """This holds for each frame of the chain; nothing is built before."""
    snapshot = _core._tasklet_snapshot(suspended[0])
    for at, frame in enumerate(snapshot[3]):
        refused(with_frame(snapshot, at, replaced(frame, field, value)))
        refused(with_frame(snapshot, at, frame[:field]))


@pytest.mark.parametrize("value", [None, (), (1,), "text", ((),), (None,) * 9, 7])
def test_an_object_that_is_not_a_tasklet_is_refused(value: Any) -> None:
    """This holds for snapshots without frames, and with too many parts, too."""
    refused(value)


def test_the_innermost_frame_stands_at_a_call(suspended: tuple[Any, Channel]) -> None:
    """Every other unit of its code is refused, unless it has the same depth and is a call too."""
    snapshot = _core._tasklet_snapshot(suspended[0])
    frames = snapshot[3]
    inner = frames[-1]
    units = len(inner[CODE].co_code) // 2
    fits = 0
    for ip in range(units):
        changed = with_frame(snapshot, len(frames) - 1, replaced(inner, IP, ip))
        try:
            fill(changed)
        except ThawError:
            continue
        fits += 1
    assert 1 <= fits < units / 2


def test_a_variable_of_a_closure_is_a_cell(suspended: tuple[Any, Channel]) -> None:
    """The bytecode would take any other object for one."""
    snapshot = _core._tasklet_snapshot(suspended[0])
    for at, frame in enumerate(snapshot[3]):
        for slot, value in enumerate(frame[VALUES]):
            if type(value).__name__ == "cell":
                values = replaced(frame[VALUES], slot, 5)
                refused(with_frame(snapshot, at, replaced(frame, VALUES, values)))


def test_refused_snapshots_leak_nothing(suspended: tuple[Any, Channel]) -> None:
    """No reference to their objects is left."""
    snapshot = _core._tasklet_snapshot(suspended[0])
    seeded = random.Random(5)
    counts = [sys.getrefcount(frame[FUNCTION]) for frame in snapshot[3]]
    for _ in range(300):
        at = seeded.randrange(len(snapshot[3]))
        refused(with_frame(snapshot, at, replaced(snapshot[3][at], IP, 1 << 20)))
    gc.collect()
    assert [sys.getrefcount(frame[FUNCTION]) for frame in snapshot[3]] == counts


def test_a_generator_needs_a_new_one_of_the_same_code() -> None:
    """Its frame is not put into one that has begun, nor into one of other code."""

    def one() -> Iterator[int]:
        yield 1
        yield 2

    def other() -> Iterator[int]:
        yield 3

    begun = one()
    next(begun)
    snapshot = _core._generator_snapshot(begun)
    for wrong in (begun, other()):
        with pytest.raises(ThawError):
            _core._generator_fill(wrong, snapshot)
    good = _core._generator_empty(one)
    _core._generator_fill(good, snapshot)
    assert list(good) == [2]
    assert list(begun) == [2]


@pytest.mark.parametrize("state", [-1, 0, 3, 77, 1 << 40, None])
def test_a_generator_is_in_a_known_state(state: Any) -> None:
    """A number that the interpreter does not know would be undefined behaviour."""

    def one() -> Iterator[int]:
        yield 1

    begun = one()
    next(begun)
    snapshot = _core._generator_snapshot(begun)
    with pytest.raises(ThawError):
        _core._generator_fill(_core._generator_empty(one), (*snapshot[:6], state))


def test_an_empty_generator_runs_no_code() -> None:
    """Only functions whose call makes a generator are called."""
    ran = []
    with pytest.raises(TypeError, match="generator function"):
        _core._generator_empty(lambda: ran.append(1))
    assert ran == []
