"""`product`, `permutations` and `combinations` in the middle of their work, on 3.14.

Since 3.14 they cannot be pickled, nor created in the middle.  So the rest of one thaws as an
iterator of our own that gives the same items: it needs only the pools and the positions of the last
item.  The positions are numbers in an array beside the object; the address of the array is in a
word at a known offset, and the size of the type has shown that the layout is the known one.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any, Self

from loomlet.snapshot._builders import named_in_bytes
from loomlet.snapshot._progress import Saving
from loomlet.snapshot._raw_object import WORD, Held, numbers, words_of

__all__ = ["HANDLERS", "Rest"]

Step = Callable[["Rest"], bool]


@named_in_bytes
class Rest(Iterator[Any]):
    """The items after a position; `kind` names the rule by which the position moves.

    The attributes of a Rest that is frozen again stand in the bytes: their old names are read too.
    """

    def __init__(self, kind: str, pools: tuple[Any, ...], positions: list[int]) -> None:
        self.kind, self.pools, self.positions = kind, pools, positions
        self.ended = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "places" in state:  # frozen when the positions were called places
            state = {**state, "positions": state["places"]}
        self.kind, self.pools = state["kind"], state["pools"]
        self.positions, self.ended = state["positions"], state["ended"]

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        self.ended = self.ended or not _STEPS[self.kind](self)
        if self.ended:
            raise StopIteration
        pairs = zip(self.pools, self.positions, strict=False)
        return tuple([pool[position] for pool, position in pairs])


def _product(rest: Rest) -> bool:
    for at in reversed(range(len(rest.positions))):
        rest.positions[at] += 1
        if rest.positions[at] < len(rest.pools[at]):
            return True
        rest.positions[at] = 0
    return False


def _rising(rest: Rest, least: int) -> bool:
    """The next row in which each position is at least `least` above the one before."""
    positions, count = rest.positions, len(rest.pools[0]) if rest.pools else 0
    size = len(positions)
    for at in reversed(range(size)):
        if positions[at] < count - 1 - least * (size - 1 - at):
            first = positions[at] + 1
            positions[at:] = [first + least * step for step in range(size - at)]
            return True
    return False


def _permutations(rest: Rest) -> bool:
    """The next row of distinct positions, in lexicographic order."""
    positions, count = rest.positions, len(rest.pools[0]) if rest.pools else 0
    for at in reversed(range(len(positions))):
        taken = set(positions[:at])
        higher = (n for n in range(positions[at] + 1, count) if n not in taken)
        found = next(higher, None)
        if found is not None:
            free = [n for n in range(count) if n not in taken and n != found]
            positions[at:] = [found, *free[: len(positions) - at - 1]]
            return True
    return False


_STEPS: dict[str, Step] = {
    "product": _product,
    "permutations": _permutations,
    "combinations": lambda rest: _rising(rest, 1),
    "combinations_with_replacement": lambda rest: _rising(rest, 0),
}


def _reduce_product(saving: Saving, value: Any) -> Any:
    pools, array, result, stopped = words_of(value, 4, 4)
    if not isinstance(result, Held):
        return (itertools.product, pools.value) if not stopped & 1 else (iter, ((),))
    positions = numbers(array, len(pools.value))
    return (iter, ((),)) if stopped & 1 else (Rest, ("product", pools.value, positions))


def _reduce_row(kind: str, more: int) -> Callable[[Saving, Any], Any]:
    """For iterators over one pool; `more`: words between the positions and the result."""

    def reduce(saving: Saving, value: Any) -> Any:
        pool, array, *rest = words_of(value, 5 + more, 5 + more)
        result, size, stopped = rest[more:]
        if stopped & 1:
            return iter, ((),)
        if not isinstance(result, Held):
            return getattr(itertools, kind), (pool.value, size)
        return Rest, (kind, (pool.value,) * size, numbers(array, size))

    return reduce


HANDLERS: dict[type, Callable[[Saving, Any], Any]] = {}
if sys.version_info >= (3, 14) and WORD == 8:
    HANDLERS = {
        itertools.product: _reduce_product,
        itertools.permutations: _reduce_row("permutations", 1),
        itertools.combinations: _reduce_row("combinations", 0),
        itertools.combinations_with_replacement: _reduce_row("combinations_with_replacement", 0),
    }
