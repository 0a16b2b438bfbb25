"""Iterators in the middle of their work, views and proxies.

Most builtin iterators can be pickled; this module handles those that cannot: views of a dict,
mapping proxies, the results of `__await__`, `itertools` (some everywhere, all from 3.14 on).

What an iterator of `itertools` holds is read from its own memory, see _raw_object.py: the layout of
each type is in the functions below.  Any thread that may touch the iterator.
"""

from __future__ import annotations

import copy
import gc
import itertools
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from loomlet.snapshot import _itertools_state
from loomlet.snapshot._builders import named_in_bytes
from loomlet.snapshot._progress import Saving
from loomlet.snapshot._raw_object import Held, raw_words, words_of

__all__ = ["HANDLERS"]

_LOST = sys.version_info >= (3, 14)
_WARNS = sys.version_info >= (3, 12)
Handler = Callable[[Saving, Any], Any]


@named_in_bytes
def view(kind: str, mapping: Any) -> Any:
    """dict.keys, dict.values or dict.items of a mapping."""
    return getattr(mapping, kind)()


def _view(kind: str) -> Handler:
    def reduce(saving: Saving, value: Any) -> Any:
        return view, (kind, gc.get_referents(value)[0])

    return reduce


def _proxy(saving: Saving, proxy: MappingProxyType[Any, Any]) -> Any:
    """A proxy of the same mapping; a proxy of a class's namespace is that of the class."""
    inner = gc.get_referents(proxy)[0]
    mark = proxy.get("__dict__") or proxy.get("__weakref__")
    owner = getattr(mark, "__objclass__", None)
    if owner is not None and owner.__dict__ == proxy:
        return getattr, (owner, "__dict__")
    return MappingProxyType, (inner,)


@named_in_bytes
def await_of(coroutine: Any) -> Any:
    """The iterator of `await`."""
    return coroutine.__await__()


def _wrapper(saving: Saving, wrapper: Any) -> Any:
    return await_of, (gc.get_referents(wrapper)[0],)


def _own(word: Any) -> Any:
    """The object in a word, or an empty iterator."""
    return word.value if isinstance(word, Held) else iter(())


def _simple(kind: Callable[..., Any], size: int = 2) -> Handler:
    """Rebuilt from the objects that it refers to, in their order."""

    def reduce(saving: Saving, value: Any) -> Any:
        return kind, tuple(_own(word) for word in words_of(value, size, size))

    return reduce


def before(first: list[Any], rest: Any) -> Any:
    """Some items, then those of an iterator."""
    return itertools.chain(first, rest)


@named_in_bytes
def pairwise(old: Any, rest: Any) -> Any:
    """Pairs, the next of which begins with `old`."""
    return itertools.pairwise(itertools.chain((old,), rest))


def _pairwise(saving: Saving, value: Any) -> Any:
    rest, old, *_ = words_of(value, 2, 3)
    if isinstance(old, Held) and isinstance(rest, Held):
        return pairwise, (old.value, rest.value)
    return itertools.pairwise, (_own(rest),)


@named_in_bytes
def batched(rest: Any, size: int, strict: bool) -> Any:
    """itertools.batched(), which knows `strict` from 3.13 on."""
    more = {"strict": True} if strict else {}
    return itertools.batched(rest, size, **more)  # type: ignore[attr-defined]


def _batched(saving: Saving, value: Any) -> Any:
    rest, size, *strict = words_of(value, 2, 3)
    return batched, (_own(rest), size, bool(strict and strict[0] & 0xFF))


@named_in_bytes
def _no(item: Any) -> bool:
    return False


def _takewhile(saving: Saving, value: Any) -> Any:
    test, rest, stopped = words_of(value, 3, 3)
    return itertools.takewhile, (test.value, iter(()) if stopped else _own(rest))


def _dropwhile(saving: Saving, value: Any) -> Any:
    test, rest, started = words_of(value, 3, 3)
    return itertools.dropwhile, (_no if started else test.value, _own(rest))


@named_in_bytes
def chained(active: Any, source: Any) -> Any:
    """A chain in the middle of one of its parts."""
    return itertools.chain.from_iterable(itertools.chain((active,), source))


def _chain(saving: Saving, value: Any) -> Any:
    source, active = words_of(value, 2, 2)
    return chained, (_own(active), _own(source))


def _count(saving: Saving, value: Any) -> Any:
    number, big, step, *_ = words_of(value, 3, 4)
    at = big.value if isinstance(big, Held) else number
    return itertools.count, (at, step.value if isinstance(step, Held) else 1)


def _repeat(saving: Saving, value: Any) -> Any:
    item, left = words_of(value, 2, 2)
    return itertools.repeat, (item.value,) if left < 0 else (item.value, left)


def _islice(saving: Saving, value: Any) -> Any:
    rest, following, stop, step, done = words_of(value, 5, 5)
    end = None if stop < 0 else max(stop - done, 0)
    return itertools.islice, (_own(rest), max(following - done, 0), end, step)


@named_in_bytes
def advanced(kind: Callable[..., Any], items: list[Any], rest: Any, *args: Any) -> Any:
    """An iterator over items and the rest, of which these items are taken already."""
    made = kind(itertools.chain(items, rest), *args)
    for _ in items:
        next(made)
    return made


def _accumulate(saving: Saving, value: Any) -> Any:
    total, rest, function, initial, *_ = words_of(value, 4, 5)
    adds = function.value if isinstance(function, Held) else None
    if isinstance(initial, Held) and initial.value is not None:
        return accumulated, (_own(rest), adds, initial.value)
    if isinstance(total, Held):
        return advanced, (itertools.accumulate, [total.value], _own(rest), adds)
    return itertools.accumulate, (_own(rest), adds)


@named_in_bytes
def accumulated(rest: Any, adds: Any, initial: Any) -> Any:
    """An accumulate() that has not started."""
    return itertools.accumulate(rest, adds, initial=initial)


def _cycle(saving: Saving, value: Any) -> Any:
    rest, saved, index, *_ = words_of(value, 3, 4)
    items = saved.value
    if isinstance(rest, Held):
        return advanced, (itertools.cycle, list(items), rest.value)
    return itertools.cycle, ([*items[index:], *items[:index]],)


def _zip_longest(saving: Saving, value: Any) -> Any:
    _, _, parts, _, fill = words_of(value, 5, 5)
    size = tuple.__len__(parts.value)
    words = raw_words(parts.value, tuple.__basicsize__, size)
    return zipped, (fill.value, *(_own(word) for word in words))


@named_in_bytes
def zipped(fill: Any, *parts: Any) -> Any:
    """itertools.zip_longest()."""
    return itertools.zip_longest(*parts, fillvalue=fill)


@named_in_bytes
class KeyOf:
    """The key function of a resumed groupby(): it knows the key of one item that is gone.

    The attributes of one that is frozen again stand in the bytes, so their names never change.
    """

    def __init__(self, function: Any, key: Any) -> None:
        self.function, self.key = function, key
        self.left = 1

    def __call__(self, item: Any) -> Any:
        """The known key once, for the item that stands for the items already taken."""
        if self.left:
            self.left = 0
            return self.key
        return item if self.function is None else self.function(item)


@named_in_bytes
def grouped(rest: Any, function: Any, key: Any) -> Any:
    """A groupby() of which one group was handed out and some of its items are taken."""
    made = itertools.groupby(itertools.chain((None,), rest), KeyOf(function, key))
    _, group = next(made)
    next(group)
    return made


def _groupby(saving: Saving, value: Any) -> Any:
    rest, function, target, current, item, *_ = words_of(value, 6, 7)
    by = function.value if isinstance(function, Held) else None
    if isinstance(item, Held):
        rest = Held(before([item.value], _own(rest)))
    waits = isinstance(current, Held) and isinstance(target, Held)
    if not isinstance(target, Held) or (waits and target.value != current.value):
        return itertools.groupby, (_own(rest), by)
    return grouped, (_own(rest), by, target.value)


def _grouper(saving: Saving, value: Any) -> Any:
    groups, target = words_of(value, 2, 2)
    return itertools._grouper, (groups.value, target.value)  # type: ignore[attr-defined]


def _tee_data(saving: Saving, value: Any) -> Any:
    rest, read, link, *values = words_of(value, 4, 4 + 1024)
    items = [word.value for word in values[: read & 0xFFFFFFFF]]
    return tee_from, (items, _own(link) if isinstance(link, Held) else _own(rest))


@named_in_bytes
def tee_from(items: list[Any], rest: Any) -> Any:
    """The beginning of a block of items; copies of it share the items that follow."""
    return itertools.tee(itertools.chain(items, copy.copy(rest) if _is_tee(rest) else rest), 1)[0]


def _is_tee(value: Any) -> bool:
    return isinstance(value, itertools._tee)  # type: ignore[attr-defined]


@named_in_bytes
def tee_at(block: Any, index: int) -> Any:
    """A tee() that has taken `index` items of a block."""
    made = copy.copy(block)
    for _ in range(index):
        next(made)
    return made


def _tee(saving: Saving, value: Any) -> Any:
    block, index, *_ = words_of(value, 3, 4)
    return tee_at, (block.value, index & 0xFFFFFFFF)


def _lost() -> dict[type, Handler]:
    """Iterators that cannot be pickled since 3.14."""
    return {
        itertools.starmap: _simple(itertools.starmap),
        itertools.filterfalse: _simple(itertools.filterfalse),
        itertools.compress: _simple(itertools.compress),
        itertools.takewhile: _takewhile,
        itertools.dropwhile: _dropwhile,
        itertools.chain: _chain,
        itertools.count: _count,
        itertools.repeat: _repeat,
        itertools.islice: _islice,
        itertools.accumulate: _accumulate,
        itertools.cycle: _cycle,
        itertools.zip_longest: _zip_longest,
        itertools._tee: _tee,  # type: ignore[attr-defined]
        itertools._tee_dataobject: _tee_data,  # type: ignore[attr-defined]
    }


@named_in_bytes
def restored(kind: Callable[..., Any], args: tuple[Any, ...], state: Any = None) -> Any:
    """Iterators that 3.12 and 3.13 still pickle, with a warning."""
    made = kind(*args)
    if state is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            made.__setstate__(state)
    return made


def _warning(saving: Saving, value: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        reduced = value.__reduce__()
    return restored, tuple(reduced)


def _warned() -> dict[type, Handler]:
    """The iterators of itertools that pickle supports, but not silently."""
    unknown = {itertools.pairwise, getattr(itertools, "batched", None)}
    kinds = {kind for kind in vars(itertools).values() if isinstance(kind, type)} - unknown
    return dict.fromkeys(kinds, _warning)


async def _nothing() -> None:
    pass


def _wrapper_type() -> type:
    coroutine = _nothing()
    try:
        return type(coroutine.__await__())
    finally:
        coroutine.close()


def _handlers() -> dict[type, Handler]:
    known = _lost() | _itertools_state.HANDLERS if _LOST else _warned() if _WARNS else {}
    found = known | {MappingProxyType: _proxy, _wrapper_type(): _wrapper}
    mappings: tuple[Any, ...] = ({}, OrderedDict())
    for mapping in mappings:
        for kind in ("keys", "values", "items"):
            found[type(getattr(mapping, kind)())] = _view(kind)
    found |= {itertools.pairwise: _pairwise, itertools.groupby: _groupby}
    found[itertools._grouper] = _grouper  # type: ignore[attr-defined]
    if hasattr(itertools, "batched"):
        found[itertools.batched] = _batched
    return found


HANDLERS: dict[type, Handler] = _handlers()
