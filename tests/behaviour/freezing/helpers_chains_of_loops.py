"""Iterators in the middle of their work, comprehensions and generators.

See helpers_chains.py; each function whose first parameter is `ch` is a chain, but for the helpers.
"""

from __future__ import annotations

import collections
import itertools
import operator


def over(items, ch):
    return [(item, ch.receive()) for item in items]


def loop(items, ch, rounds=None):
    found = []
    for item in items:
        found.append((item, ch.receive()))
        if rounds is not None and len(found) >= rounds:
            break
    return found


def over_lists(ch):
    return loop([4, 5], ch), loop((6, 7), ch), loop(reversed([8, 9]), ch)


def over_a_growing_list(ch):
    items = [1]
    found = []
    for item in items:
        found.append(item)
        if ch.receive() < 4:
            items.append(item + 1)
    return found


def over_ranges(ch):
    return loop(range(2), ch), loop(range(10, 0, -5), ch), loop(range(2**70, 2**70 + 2), ch)


def over_texts(ch):
    return loop("ab", ch), loop("\u00e9\U0001f600", ch), loop(b"cd", ch), loop(bytearray(b"ef"), ch)


def over_dicts(ch):
    data = {"x": 1, "y": 2}
    return loop(data, ch), loop(data.values(), ch), loop(data.items(), ch), loop(reversed(data), ch)


def over_sets(ch):
    return sorted(loop({5}, ch)), len(loop({1, 2, 3}, ch)), loop(frozenset({7}), ch)


def over_enumerate_and_zip(ch):
    pairs = zip([1, 2], "xy", strict=True)
    return loop(enumerate("ab", 5), ch), loop(pairs, ch), loop(enumerate(zip("p")), ch)


def twice(n):
    return 2 * n


def over_map_and_filter(ch):
    return loop(map(twice, [1, 2]), ch), loop(filter(None, [0, 3, 0, 4]), ch)


def over_a_callable(ch):
    source = collections.deque([1, 2, 3])
    return loop(iter(source.popleft, 3), ch)


def over_deques(ch):
    return loop(collections.deque([1, 2]), ch), loop(reversed(collections.deque([3, 4])), ch)


def over_chains_and_counts(ch):
    return loop(itertools.chain([1], (2, 3)), ch), loop(itertools.count(5, 2), ch, 3)


def over_cycles_and_repeats(ch):
    return loop(itertools.cycle("ab"), ch, 5), loop(itertools.repeat("r", 3), ch)


def over_slices_and_pairs(ch):
    return loop(itertools.islice("abcdefgh", 1, 7, 2), ch), loop(itertools.pairwise("abcd"), ch)


def over_accumulations(ch):
    sums = itertools.accumulate([1, 2, 3], initial=10)
    return loop(sums, ch), loop(itertools.accumulate([2, 3, 4], operator.mul), ch)


def over_selections(ch):
    kept = itertools.compress("abcd", [1, 0, 1, 1])
    return loop(kept, ch), loop(itertools.filterfalse(bool, [0, 1, ""]), ch)


def small(n):
    return n < 3


def over_prefixes(ch):
    items = [1, 2, 3, 1]
    return loop(itertools.takewhile(small, items), ch), loop(itertools.dropwhile(small, items), ch)


def over_longest_zips_and_stars(ch):
    longest = itertools.zip_longest("abc", [1], fillvalue="-")
    return loop(longest, ch), loop(itertools.starmap(pow, [(2, 3), (3, 2)]), ch)


def over_groups(ch):
    groups = itertools.groupby([1, 1, 2, 3, 3])
    return [(key, ch.receive(), len(list(group))) for key, group in groups]


def over_tees(ch):
    one, two = itertools.tee(iter("abcd"))
    first = next(two), next(two)
    return loop(one, ch), first, loop(two, ch)


def over_views_in_variables(ch):
    data = {"x": 1}
    keys, values, items = data.keys(), data.values(), data.items()
    ch.receive()
    data["y"] = ch.receive()
    return list(keys), list(values), list(items)


def comprehensions(ch):
    return (
        [x * ch.receive() for x in range(3) if x],
        {x: ch.receive() for x in "ab"},
        sorted({ch.receive() for _ in range(2)}),
    )


def nested_comprehensions(ch):
    return [[(x, y, ch.receive()) for y in range(2)] for x in range(2)]


def comprehension_with_a_closure(ch):
    makers = [lambda n=n: n + base for n in range(2)] if (base := ch.receive()) else []
    return [maker() + ch.receive() for maker in makers]


def numbers(ch, count):
    for n in range(count):
        got = ch.receive()
        yield n, got
    return "end"


def inside_a_generator(ch):
    found = []
    for item in numbers(ch, 3):
        found.append(item)
    return found


def generator_expression(ch):
    found = []
    for item in (2 * ch.receive() for _ in range(3)):
        found.append(item)
    return found


def delegated(ch):
    ended = yield from numbers(ch, 2)
    yield ended, ch.receive()


def yield_from(ch):
    found = []
    for item in delegated(ch):
        found.append(item)
    return found


def generator_waits_beside(ch):
    def steps():
        total = 0
        while True:
            got = yield total
            total += got

    machine = steps()
    next(machine)
    return [machine.send(ch.receive()) for _ in range(3)], machine.gi_frame is not None


def generator_with_handlers(ch):
    log = []

    def steps():
        try:
            yield 1
            raise KeyError("inside")
        except KeyError as error:
            yield repr(error)
        finally:
            log.append("closed")

    for item in steps():
        log.append((item, ch.receive()))
    return log


def ended_and_fresh_generators(ch):
    done, fresh = (x for x in "a"), (x for x in "bc")
    first = list(done)
    ch.receive()
    return first, list(done), ch.receive(), list(fresh)


def generator_pipeline(ch):
    def doubled(source):
        for _, value in source:
            yield 2 * value

    found = []
    for value in doubled(numbers(ch, 3)):
        found.append(value)
    return found
