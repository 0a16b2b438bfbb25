"""Recursion without end is a RecursionError in every tasklet, never a crash."""

import copy
import json
import pickle
import sys

import pytest

import loomlet

DEEP = 100_000 if sys.version_info < (3, 14) else 250_000


def endless():
    return endless()


def through_max(n=DEEP):
    return max([n], key=lambda _: through_max(n - 1))


def through_sorted_and_partial(n=DEEP):
    return sorted([n], key=lambda _: through_sorted_and_partial(n - 1))


class Endless:
    def __getattr__(self, name):
        return getattr(self, name)

    def __eq__(self, other):
        return other == self

    def __repr__(self):
        return repr([self])

    __hash__ = None


def nested_list():
    nested = []
    for _ in range(DEEP):
        nested = [nested]
    return nested


def nested_dict():
    nested = {}
    for _ in range(DEEP):
        nested = {"k": nested}
    return nested


BODIES = {
    "python": endless,
    "max": through_max,
    "sorted": through_sorted_and_partial,
    "getattr": lambda: Endless().anything,
    "eq": lambda: Endless() == Endless(),
    "repr of an object": lambda: repr(Endless()),
    "repr of a list": lambda: repr(nested_list()),
    "repr of a dict": lambda: repr(nested_dict()),
    "json": lambda: json.dumps(nested_list()),
    "json back": lambda: json.loads("[" * DEEP + "]" * DEEP),
    "comparison": lambda: nested_list() == nested_list(),
    "deepcopy": lambda: copy.deepcopy(nested_list()),
    "pickle": lambda: pickle.dumps(nested_list()),
}


def caught(body):
    for _ in range(2):
        with pytest.raises(RecursionError):
            body()
        loomlet.schedule()
    return "continues"


@pytest.mark.parametrize("start", ["from Python", "below C code"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_it_can_be_caught(body, start, mode):
    """The error can be caught and the tasklet continues."""
    if start == "from Python":
        task = loomlet.spawn(caught, body)
    else:
        task = loomlet.spawn(lambda: next(map(caught, [body])))
    assert task.result() == "continues"


def test_it_ends_the_tasklet_when_it_is_not(failures, mode):
    """Not caught, it is the tasklet's failure."""
    task = loomlet.spawn(endless)
    with pytest.raises(RecursionError):
        task.join()


@pytest.mark.parametrize("source", ["(" * DEEP, "-" * DEEP + "1", "a" + ".b" * DEEP, "[" * 150])
def test_compiling_deeply_nested_source(source, mode):
    """The compiler gives up with an error of its own, and the tasklet continues."""

    def body():
        try:
            compile(source, "<deep>", "eval")
        except (RecursionError, MemoryError, SyntaxError):
            pass
        loomlet.schedule()
        return "continues"

    assert loomlet.spawn(body).result() == "continues"


def test_deallocating_a_deep_structure(mode):
    """Freeing a deep structure needs no deep stack."""

    def body():
        nested, also = nested_list(), nested_dict()
        loomlet.schedule()
        del nested, also
        return "freed"

    assert loomlet.spawn(body).result() == "freed"


def depth_left():
    try:
        return 1 + depth_left()
    except RecursionError:
        return 1


def at_depth(n, func):
    return func() if n == 0 else at_depth(n - 1, func)


def test_every_tasklet_has_the_whole_depth(mode):
    """How deep the spawner is, or others are, does not shorten a tasklet's recursion."""
    limit = sys.getrecursionlimit()
    shallow = loomlet.spawn(depth_left).result()
    deep = at_depth(limit // 2, lambda: loomlet.spawn(depth_left).result())
    assert shallow == deep
    assert limit - 50 < shallow <= limit

    ch = loomlet.Channel()
    waiting = [loomlet.spawn(at_depth, limit * 3 // 4, ch.receive) for _ in range(4)]
    loomlet.schedule()
    assert [task.state for task in waiting] == ["blocked"] * 4
    assert loomlet.spawn(depth_left).result() == shallow
    for n in range(4):
        ch.send(n)
    assert sorted(task.result() for task in waiting) == [0, 1, 2, 3]


def test_the_depth_is_kept_over_a_suspension(mode):
    """A suspended tasklet does not gain or lose depth."""

    def body():
        first = depth_left()
        for _ in range(20):
            at_depth(20, loomlet.schedule)
        return first, depth_left()

    first, last = loomlet.spawn(body).result()
    assert first == last


def test_an_error_thrown_at_full_depth_frees_the_depth(mode):
    """After exceptions unwound a suspended deep call, the whole depth is there again."""

    def body(ch):
        first = depth_left()
        for _ in range(5):
            with pytest.raises(KeyError):
                at_depth(300, ch.receive)
        return first, depth_left()

    ch = loomlet.Channel()
    task = loomlet.spawn(body, ch)
    loomlet.schedule()
    for _ in range(5):
        task.throw(KeyError())
    first, last = task.result()
    assert first == last
