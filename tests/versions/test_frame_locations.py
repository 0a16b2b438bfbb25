"""The locations of waiting frames: a snapshot that names a wrong one is refused.

A frame below the innermost one waits at an instruction that runs another frame, and resumes after
it (or where its loop ends) with one value more.  A suspended generator waits behind its `yield`.
So few code units are possible, and with a given number of slots fewer still; how far the frame
advances when the frame above returns follows from the instruction.  The tests move the locations
in the snapshots of some tasklets to each code unit of the code, and to each offset.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Callable, Generator, Iterator
from types import CodeType
from typing import Any

import pytest

import loomlet
from loomlet import Channel, ThawError, _core

# Only snapshots of the tasklets are compared; the tasklets themselves are dropped while blocked.
pytestmark = pytest.mark.filterwarnings(
    "ignore:tasklet .* was collected while blocked:ResourceWarning"
)
needs_soft = pytest.mark.skipif(
    not _core.SOFT_SUPPORTED, reason="freezing needs soft switching, which this Python has not"
)

OWNER, FUNCTION, CODE, LOCALS, IP, OFFSET, MASK, VALUES = range(8)
BEHIND = sys.version_info < (3, 13)  # a waiting frame stands behind the caches of its instruction
WAITS = {
    "CALL",
    "CALL_KW",
    "CALL_FUNCTION_EX",
    "FOR_ITER",
    "SEND",
    "LOAD_ATTR",
    "LOAD_METHOD",
    "BINARY_SUBSCR",
    "BINARY_OP",
}


def calls(ch: Channel, n: int = 3) -> Any:
    if n == 0:
        return ch.receive()
    first = len("abc") + n
    return [first, calls(ch, n - 1), len("d")]


def keywords(ch: Channel) -> Any:
    star: tuple[int, ...] = (0,)
    return calls(ch, n=1) if star and not star[0] else calls(ch, *star)


def stars(ch: Channel) -> Any:
    args = (ch, 1)
    return [len(args), calls(*args), max(3, 4)]


def yielding(ch: Channel) -> Generator[Any, Any, Any]:
    yield ch.receive()
    return (yield)


def loop(ch: Channel) -> Any:
    found = []
    for value in yielding(ch):
        found.append(str(value))
    return found


def delegating(ch: Channel) -> Any:
    def outer() -> Any:
        said = yield from yielding(ch)
        return str(said)

    gen = outer()
    return [gen.send(None), str(gen)]


def spliced(ch: Channel) -> Any:
    gen = yielding(ch)
    return [next(gen), str(gen)]


class Thing:
    def __init__(self, ch: Channel) -> None:
        self.ch = ch

    @property
    def attribute(self) -> Any:
        return self.ch.receive()

    def __getitem__(self, key: int) -> Any:
        return [key, self.ch.receive()]


class Asking:
    def __init__(self, ch: Channel) -> None:
        self.value = ch.receive()


def attribute(ch: Channel) -> Any:
    thing = Thing(ch)
    return [str(thing), thing.attribute, len("x")]


def item(ch: Channel) -> Any:
    thing = Thing(ch)
    return [str(thing), thing[1], len("x")]


def instance(ch: Channel) -> Any:
    return [str(ch), Asking(ch).value]


def partial(ch: Channel) -> Any:
    call = functools.partial(calls, ch, 0)
    return [str(call), call()]


SHAPES = [calls, keywords, stars, loop, delegating, spliced, attribute, item, instance, partial]


def suspend(shape: Callable[[Channel], Any]) -> Any:
    ch = Channel()
    task = loomlet.spawn(shape, ch)
    loomlet.schedule()
    assert task.state == "blocked"
    return task


@pytest.fixture(params=["cold", "warm"])
def warmth(request: pytest.FixtureRequest) -> bool:
    """Specialised instructions run frames without C where the plain ones cannot."""
    return bool(request.param == "warm")


@pytest.fixture(params=SHAPES, ids=lambda shape: shape.__name__)
def task(request: pytest.FixtureRequest, warmth: bool) -> Iterator[Any]:
    if warmth:
        for _ in range(40):
            suspend(request.param).kill()
    task = suspend(request.param)
    yield task
    task.kill()


def replaced(parts: tuple[Any, ...], field: int, value: object) -> tuple[Any, ...]:
    return (*parts[:field], value, *parts[field + 1 :])


def callers(task: Any) -> Iterator[tuple[Any, int]]:
    """The tasklet's snapshot and the index of each frame that waits for another one."""
    snapshot = _core._tasklet_snapshot(task)
    for at in range(len(snapshot[3]) - 1):
        yield snapshot, at


def with_another(frame: tuple[Any, ...], gen: Any, new: Any) -> tuple[Any, ...]:
    """The frame with another generator."""
    values = tuple(new if value is gen else value for value in frame[VALUES])
    return (new if frame[OWNER] is gen else frame[OWNER], *frame[1:VALUES], values)


def is_accepted(snapshot: tuple[Any, ...], at: int, frame: tuple[Any, ...]) -> bool:
    """Whether the core makes a tasklet of the changed snapshot."""
    frames = replaced(snapshot[3], at, frame)
    for part in frames:
        if part[OWNER] is not None:  # a running generator must be a new one for each attempt
            gen, new = part[OWNER], _core._generator_empty(part[FUNCTION])
            frames = tuple(with_another(other, gen, new) for other in frames)
    task = _core._tasklet_empty(loomlet.Tasklet)
    try:
        _core._tasklet_fill(task, replaced(snapshot, 3, frames), False)
    except ThawError:
        return False
    return True


def may_wait(code: CodeType, unit: int, offset: int) -> bool:
    """Whether a frame can stand at this unit and wait."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in WAITS:
            first = instruction.offset // 2
            caches = behind(code, first) - first - 1
            if unit == (first + caches if BEHIND and offset < 0xF000 else first):
                return True
    return False


def behind(code: CodeType, unit: int) -> int:
    """The first unit behind the instruction and its inline caches."""
    unit += 1
    while unit < len(code.co_code) // 2 and code.co_code[2 * unit] == 0:
        unit += 1
    return unit


@needs_soft
def test_a_snapshot_that_was_read_fits(task: Any) -> None:
    """An unchanged snapshot is accepted."""
    for snapshot, at in callers(task):
        assert is_accepted(snapshot, at, snapshot[3][at])


@needs_soft
def test_a_caller_stands_where_it_can_wait(task: Any) -> None:
    """At every other unit it is refused, unless that is such an instruction too."""
    for snapshot, at in callers(task):
        frame = snapshot[3][at]
        if frame[FUNCTION] is None:
            continue
        for unit in range(-2, len(frame[CODE].co_code) // 2 + 2):
            if is_accepted(snapshot, at, replaced(frame, IP, unit)):
                assert may_wait(frame[CODE], unit, frame[OFFSET])


@needs_soft
def test_how_far_a_caller_goes_follows_from_its_instruction(task: Any) -> None:
    """Any other offset is refused."""
    for snapshot, at in callers(task):
        frame = snapshot[3][at]
        wrong = {*range(200), *range(0xF000, 0xFFFF, 7), 0xFFFF} - {frame[OFFSET]}
        if frame[OFFSET] >= 0xF000:
            # next() in field of send() is as good
            wrong = {offset for offset in wrong if offset < 0xF000}
        assert [
            offset for offset in wrong if is_accepted(snapshot, at, replaced(frame, OFFSET, offset))
        ] == []


@needs_soft
def test_a_caller_has_as_many_slots_as_its_location_says(task: Any) -> None:
    """One value more or fewer is refused where the depth is known from the code."""
    known = _core._depth_at(calls.__code__, 0) == 0
    for snapshot, at in callers(task):
        frame = snapshot[3][at]
        slots = len(frame[VALUES]) + bin(frame[MASK]).count("1")
        if frame[FUNCTION] is None or frame[MASK] >> slots or not known:
            continue
        more = replaced(frame, VALUES, (*frame[VALUES], None))
        fewer = replaced(frame, VALUES, frame[VALUES][:-1])
        empty = replaced(frame, MASK, frame[MASK] | 1 << slots)
        for wrong in (more, fewer, empty):
            assert not is_accepted(snapshot, at, wrong)


@needs_soft
def test_the_frame_under_init_waits_for_it() -> None:
    """It is accepted as the interpreter makes it, and never as the innermost one."""
    for _ in range(40):
        suspend(instance).kill()
    task = suspend(instance)
    snapshot = _core._tasklet_snapshot(task)
    shims = [at for at, frame in enumerate(snapshot[3]) if frame[FUNCTION] is None]
    for at in shims:
        shim = snapshot[3][at]
        for field, value in ((IP, 1), (OFFSET, 1), (MASK, 1), (VALUES, ()), (VALUES, (1, 2))):
            assert not is_accepted(snapshot, at, replaced(shim, field, value))
        assert not is_accepted(replaced(snapshot, 3, snapshot[3][: at + 1]), at, shim)
        assert not is_accepted(snapshot, at, replaced(shim, FUNCTION, instance))
    task.kill()


def new(ch: Channel) -> Iterator[Any]:
    yield ch


def in_the_middle(ch: Channel) -> Iterator[Any]:
    for value in range(3):
        try:
            yield str(value)
        except ValueError:
            yield len([ch, (yield)])


def in_a_call() -> Iterator[Any]:
    yield str((yield 1))


def delegated(ch: Channel) -> Iterator[Any]:
    yield from in_the_middle(ch)
    yield len([ch])


def generators() -> Iterator[Any]:
    for make in (new, in_the_middle, delegated):
        for steps in range(3):
            gen = make(Channel())
            for _ in range(steps):
                next(gen, None)
            yield make, gen
    gen = in_a_call()
    next(gen)
    yield in_a_call, gen


def is_filled(make: Any, snapshot: tuple[Any, ...], frame: tuple[Any, ...], state: int) -> bool:
    gen = _core._generator_empty(make)
    try:
        _core._generator_fill(gen, (*snapshot[:4], frame, snapshot[5], state))
    except ThawError:
        return False
    return True


@needs_soft  # on 3.11 the stack depth at the other units is unknown
def test_a_generator_waits_after_a_yield() -> None:
    """At every other unit it is refused, unless that is behind a `yield` too; so is any offset."""
    for make, gen in generators():
        snapshot = _core._generator_snapshot(gen)
        frame, state = snapshot[4], snapshot[6]
        if frame is None:
            continue
        assert is_filled(make, snapshot, frame, state)
        names = {i.offset // 2: i.opname for i in dis.get_instructions(make.__code__)}
        for unit in range(-2, len(make.__code__.co_code) // 2 + 2):
            if is_filled(make, snapshot, replaced(frame, IP, unit), state):
                front = names.get(unit if BEHIND else unit - 1)
                assert front in ("YIELD_VALUE", "RETURN_GENERATOR"), (make.__name__, unit)
        assert not is_filled(make, snapshot, replaced(frame, OFFSET, 3), state)


def test_a_generator_has_no_more_slots_than_its_code() -> None:
    """Where the depth is known, it has exactly as many as its location says."""
    for make, gen in generators():
        snapshot = _core._generator_snapshot(gen)
        frame, state = snapshot[4], snapshot[6]
        if frame is None:
            continue
        slots = len(frame[VALUES]) + bin(frame[MASK]).count("1")
        room = make.__code__.co_nlocals + make.__code__.co_stacksize
        for more in range(1 if _core.SOFT_SUPPORTED else room - slots, room - slots + 3):
            wrong = replaced(frame, VALUES, frame[VALUES] + (None,) * more)
            assert not is_filled(make, snapshot, wrong, state)
            wrong = replaced(frame, MASK, frame[MASK] | ((1 << more) - 1) << slots)
            assert not is_filled(make, snapshot, wrong, state)


def test_the_state_of_a_generator_fits_its_location() -> None:
    """It is new, at a `yield`, or delegates to another generator: only one of them is accepted."""
    for make, gen in generators():
        snapshot = _core._generator_snapshot(gen)
        if snapshot[4] is not None:
            accepted = [
                state
                for state in range(-4, 1)
                if is_filled(make, snapshot, snapshot[4], state & 0xFF)
            ]
            assert accepted == [(snapshot[6] & 0xFF) - 256]
