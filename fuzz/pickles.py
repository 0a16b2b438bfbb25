"""Gives damaged states to tasklets and channels as `pickle` does, on both APIs.

    python fuzz/pickles.py [--seconds N] [--seed S] [--corpus FILE]

Tasklets and channels are reduced to (type, arguments, state), some parts of the state are replaced
at random, and all is pickled: so each input is a valid pickle, with a state that `__reduce__()`
never gives.  Loading it must raise ThawError, or make a tasklet.  It is not run: a state may hold
any code.
"""

from __future__ import annotations

import math
import pickle
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from campaign import Fuzzer, main
from waiting import Special, in_a_timeout, selects, sends, sleeps

import loomlet
from loomlet import CancelScope, Channel, Tasklet, ThawError, timeout
from loomlet.bench.programs import frozen
from loomlet.compat import stackless
from loomlet.snapshot._copyreg_support import Box
from loomlet.snapshot._stackless_pickle import Call, Frame, Pending

Reduced = tuple[Any, tuple[Any, ...], Any]

NUMBERS = (
    -1,
    0,
    1,
    2,
    3,
    7,
    255,
    -(2**31),
    2**31,
    2**63,
    2**64,
    2**200,
    True,
    0.5,
    math.nan,
    1e308,
)
TEXTS = ("", "x", "os", "loomlet", "sleep", "receive", "\udcff", b"", b"\xff" * 9)
HOLDERS = {
    Frame: ("record", "wait"),
    Call: ("record", "wait"),
    Box: ("value",),
    Pending: ("error",),
}


class Given:
    """Pickles as whatever it was given."""

    def __init__(self, reduced: Reduced) -> None:
        self.reduced = reduced

    def __reduce__(self) -> Reduced:
        return self.reduced


PROGRAMS = (frozen.waiting, frozen.below, frozen.handler, in_a_timeout, selects, sleeps, sends)


def native() -> Iterator[Any]:
    """Tasklets that wait in several ways, one that has not begun, and channels."""
    for call in PROGRAMS:
        task = loomlet.spawn(call, Channel(), 3)
        loomlet.schedule()
        yield task
    yield loomlet.spawn(frozen.waiting, Channel(), number=3)
    full = Channel(3)
    full.send((1, "x"))
    closed = Channel()
    closed.close()
    yield from (Channel(7, "name"), full, closed)


def reference() -> Iterator[Any]:
    """The same for the Stackless API, and its additions."""
    for call in PROGRAMS:
        channel = stackless.channel()
        task = stackless.tasklet(call)(channel, 3)
        task.run()
        yield from (task, channel)
    task = Special(frozen.waiting)(stackless.channel(), 3)
    task.extra = [task, frozen.below]
    yield task
    failing = stackless.tasklet(sleeps)(stackless.channel(), 3)
    failing.throw(ValueError, "x", pending=True)
    yield from (failing, stackless.tasklet(), stackless.tasklet(len))


def parts(value: Any) -> list[Any] | None:
    """The parts of a container."""
    if type(value) in HOLDERS:
        return [getattr(value, name) for name in HOLDERS[type(value)]]
    if type(value) is dict:
        return [item for pair in value.items() for item in pair]
    return list(value) if type(value) in (tuple, list) else None


def whole(like: Any, found: list[Any]) -> Any:
    """A container of the same type with those parts, as far as it can hold them."""
    if type(like) in HOLDERS:
        made = type(like).__new__(type(like))
        for name, part in zip(HOLDERS[type(like)], [*found, None, None], strict=False):
            setattr(made, name, part)
        return made
    if type(like) is dict:
        keys = found[::2]
        return {key: value for key, value in zip(keys, found[1::2], strict=False) if hashed(key)}
    return type(like)(found)


def hashed(key: Any) -> bool:
    """Whether it can be a key."""
    try:
        hash(key)
    except TypeError:
        return False
    return True


def damaged(source: random.Random, value: Any, pool: Callable[[], Any]) -> Any:
    """The value with one change, here or deeper inside."""
    found = parts(value)
    if not found or source.random() < 0.1:
        if type(value) is int and source.random() < 0.7:
            return value + source.choice((-1, 1)) * (1 << source.randrange(12))
        return pool()
    at = source.randrange(len(found))
    match source.randrange(10):
        case 0:
            del found[at]
        case 1:
            found.insert(at, pool())
        case 2:
            other = source.randrange(len(found))
            found[at], found[other] = found[other], found[at]
        case 3:
            found[at] = pool()
        case _:
            found[at] = damaged(source, found[at], pool)
    return whole(value, found)


def pieces(value: Any) -> Iterator[Any]:
    """A value and all that is in it."""
    yield value
    for part in parts(value) or ():
        yield from pieces(part)


def inputs(source: random.Random) -> Iterator[bytes]:
    """Pickles of damaged states."""
    living = [*native(), *reference()]
    states = [reduced for one in living if (reduced := reduce(one)) is not None]
    known = [piece for state in states for piece in pieces(state[1:])]
    odd: list[Any] = [None, (), [], {}, len, frozen.waiting, Tasklet, stackless.tasklet, timeout]
    odd += [Frame(), Call(), Call((len, ((),), None)), Box(frozen.below), Pending(), Channel()]
    odd += [ValueError("x"), stackless.bomb(), CancelScope(), *living]

    def pool() -> Any:
        return source.choice(source.choice((NUMBERS, TEXTS, odd, known)))

    while True:
        make, args, state = source.choice(states)
        for _ in range(source.choice((1, 1, 2, 4))):
            state = damaged(source, state, pool)
        try:
            yield pickle.dumps(Given((make, args, state)))
        except Exception:
            continue  # what it holds now cannot be pickled


def reduce(value: Any) -> Reduced | None:
    """The result of __reduce_ex__(); None for objects that cannot be pickled."""
    try:
        found = value.__reduce__()
    except loomlet.LoomletError:
        return None
    return (*found, None)[:3]


def read(data: bytes) -> object:
    """A loaded one can be shown."""
    made = pickle.loads(data)
    return made, repr(made)


FUZZER = Fuzzer(__file__, inputs, read, (ThawError, MemoryError, RecursionError))

if __name__ == "__main__":
    sys.exit(main(FUZZER, "Damaged states in ordinary pickles."))
