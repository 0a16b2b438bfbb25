"""Iterators that have given some of their items continue behind them; the original is untouched."""

import collections
import itertools
import operator
import types

import pytest


def upper(text):
    return text.upper()


def even(n):
    return n % 2 == 0


class Letters:
    """Iterated by __getitem__."""

    def __getitem__(self, place):
        return "abc"[place]


MAKERS = {
    "list": lambda: iter([1, 2, 3]),
    "reversed list": lambda: reversed([1, 2, 3]),
    "tuple": lambda: iter((1, 2, 3)),
    "range": lambda: iter(range(5)),
    "long range": lambda: iter(range(2**80, 2**80 + 3)),
    "reversed range": lambda: reversed(range(4)),
    "str": lambda: iter("abc"),
    "wide str": lambda: iter("\u00e9\U0001f600c"),
    "bytes": lambda: iter(b"abc"),
    "bytearray": lambda: iter(bytearray(b"abc")),
    "dict": lambda: iter({"a": 1, "b": 2}),
    "values": lambda: iter({"a": 1, "b": 2}.values()),
    "items": lambda: iter({"a": 1, "b": 2}.items()),
    "reversed dict": lambda: reversed({"a": 1, "b": 2, "c": 3}),
    "ordered dict": lambda: iter(collections.OrderedDict(a=1, b=2)),
    "set": lambda: iter({1, 2, 3}),
    "frozenset": lambda: iter(frozenset({1, 2, 3})),
    "deque": lambda: iter(collections.deque([1, 2, 3])),
    "reversed deque": lambda: reversed(collections.deque([1, 2, 3])),
    "sequence": lambda: iter(Letters()),
    "reversed sequence": lambda: reversed(collections.UserList([1, 2, 3])),
    "callable": lambda: iter([3, 2, 1].pop, 3),
    "enumerate": lambda: enumerate("abc", 5),
    "zip": lambda: zip("abc", iter([1, 2, 3]), strict=True),
    "map": lambda: map(upper, "abc"),
    "filter": lambda: filter(even, range(6)),
    "chain": lambda: itertools.chain("ab", [1], "c"),
    "chain from iterable": lambda: itertools.chain.from_iterable(["ab", "", "cd"]),
    "count": lambda: itertools.islice(itertools.count(5, 3), 4),
    "long count": lambda: itertools.islice(itertools.count(2**80, 3), 4),
    "float count": lambda: itertools.islice(itertools.count(0.5, 0.25), 4),
    "cycle": lambda: itertools.islice(itertools.cycle("abc"), 11),
    "repeat": lambda: itertools.repeat("x", 4),
    "endless repeat": lambda: itertools.islice(itertools.repeat(None), 3),
    "islice": lambda: itertools.islice("abcdefghij", 2, 9, 3),
    "open islice": lambda: itertools.islice("abcdef", 1, None, 2),
    "accumulate": lambda: itertools.accumulate([1, 2, 3, 4]),
    "accumulate from": lambda: itertools.accumulate([2, 3], operator.mul, initial=5),
    "accumulate none": lambda: itertools.accumulate([1, 2, 3], lambda one, two: None),
    "compress": lambda: itertools.compress("abcde", [1, 0, 1, 1, 0]),
    "dropwhile": lambda: itertools.dropwhile(even, [2, 4, 5, 6, 7]),
    "takewhile": lambda: itertools.takewhile(even, [2, 4, 5, 6]),
    "filterfalse": lambda: itertools.filterfalse(even, range(6)),
    "starmap": lambda: itertools.starmap(pow, [(2, 3), (3, 2), (5, 1)]),
    "pairwise": lambda: itertools.pairwise("abcd"),
    "zip longest": lambda: itertools.zip_longest("abc", [1], "xy", fillvalue=0),
    "groupby": lambda: ((key, len([*group])) for key, group in itertools.groupby("aabbc")),
    "tee": lambda: itertools.tee("abcd", 2)[1],
    "long tee": lambda: itertools.tee(range(130), 2)[1],
    "generator": lambda: (n * n for n in range(4)),
}
if hasattr(itertools, "batched"):
    MAKERS["batched"] = lambda: itertools.batched("abcdefg", 3)
MAKERS |= {
    "product": lambda: itertools.product("ab", [1, 2], "c"),
    "product of none": lambda: itertools.product(),
    "product of empty": lambda: itertools.product("ab", ""),
    "permutations": lambda: itertools.permutations("abcd", 2),
    "all permutations": lambda: itertools.permutations("abc"),
    "no permutations": lambda: itertools.permutations("ab", 3),
    "permutation of none": lambda: itertools.permutations("", 0),
    "combinations": lambda: itertools.combinations("abcde", 3),
    "combination of none": lambda: itertools.combinations("ab", 0),
    "with replacement": lambda: itertools.combinations_with_replacement("abc", 2),
}


@pytest.mark.parametrize("name", MAKERS)
def test_at_every_place(copied, name):
    """After none, one, two… and all of the items."""
    everything = list(MAKERS[name]())
    for taken in range(min(len(everything), 14) + 1):
        source = MAKERS[name]()
        first = [next(source) for _ in range(taken)]
        copy = copied(source)
        assert first + list(copy) == everything
        assert first + list(source) == everything


@pytest.mark.parametrize("key", [None, operator.neg], ids=["plain", "by a function"])
@pytest.mark.parametrize("taken", range(5))
def test_groups_half_way(copied, taken, key):
    """In the middle of a group that was handed out, and of one that was not looked at."""
    groups = itertools.groupby([1, 1, 1, 2, 2, 3], key)
    _, group = next(groups)
    list(itertools.islice(group, taken))
    twice = copied(copied(groups))
    assert [[*group] for _, group in twice] == [[2, 2], [3]]
    assert [[*group] for _, group in groups] == [[2, 2], [3]]


@pytest.mark.parametrize("taken", range(4))
def test_a_group_and_its_groups(copied, taken):
    """A group that was handed out continues with the groups that it belongs to."""
    groups = itertools.groupby([1, 1, 1, 2, 2, 3])
    _, group = next(groups)
    list(itertools.islice(group, taken))
    copy, more = copied((group, groups))
    assert list(copy) == [1] * (3 - taken)
    assert [[*group] for _, group in more] == [[2, 2], [3]]


def test_tees_share(copied):
    """Two iterators over one source, of which one is ahead."""
    source = iter("abcdef")
    one, two = itertools.tee(source)
    assert [next(two), next(two)] == ["a", "b"]
    first, second = copied((one, two))
    assert [next(first), next(second)] == ["a", "c"]
    assert list(first) == list("bcdef")
    assert list(second) == list("def")
    assert list(one) == list("abcdef")


def test_shared_sources(copied):
    """A source that two iterators share stays shared."""
    source = iter([1, 2, 3, 4])
    doubled, same = copied([map(str, source), source])
    assert (next(doubled), next(same), next(doubled)) == ("1", 2, "3")


def test_views(copied):
    """Of the dict that is frozen with them."""
    for kind in (dict, collections.OrderedDict):
        data = kind(a=1)
        views, same = copied(([data.keys(), data.values(), data.items()], data))
        same["b"] = 2
        assert [list(view) for view in views] == [["a", "b"], [1, 2], [("a", 1), ("b", 2)]]
        assert type(views[0]) is type(data.keys())


def test_mapping_proxies(copied):
    """Of a dict, and of a class."""
    data = {"a": 1}
    proxy, same = copied([types.MappingProxyType(data), data])
    same["b"] = 2
    assert dict(proxy) == {"a": 1, "b": 2}
    assert copied(Letters.__dict__)["__getitem__"] is Letters.__getitem__
