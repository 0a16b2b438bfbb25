"""Generators, iterators, functions, classes and public names that a tasklet holds, for the bytes.

See helpers_programs.py for what may change in here.
"""

from __future__ import annotations

import collections
import contextvars
import decimal
import functools
import itertools
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

from helpers_programs import FROZEN, Program, blocked, give, held_by, start_holding

import loomlet
from loomlet import Channel, blocking, errors
from loomlet.observe import Dump, Frame, Hold, Target, Task, Thread

# ---- generators and coroutines


def counts(start):
    total = start
    while True:
        total += yield total


def asks(ch):
    try:
        raise KeyError("inside")
    except KeyError:
        yield ch.receive()
        yield from (ch.receive() for _ in range(2))
        raise


def runs_generators(ch):
    seen = []
    for start in range(2):
        try:
            for value in asks(ch):
                seen.append((start, value))
        except KeyError as error:
            seen.append(repr(error))
    return seen


@types.coroutine
def waits_in_a_coroutine(ch):
    return ch.receive(), (yield "yielded")


async def awaits(ch):
    return await waits_in_a_coroutine(ch)


async def gives(ch):
    yield ch.receive()
    yield ch.receive()


async def reads_a_generator(ch):
    return [value async for value in gives(ch)]


def runs_coroutines(ch):
    seen = []
    for make in (awaits, reads_a_generator):
        work, value = make(ch), None
        try:
            while True:
                value = work.send(value)
                seen.append(value)
        except StopIteration as end:
            seen.append(end.value)
    return seen


def kept_generators() -> list[Any]:
    """Before the first, in the middle, behind the last step; with other names."""
    fresh, middle, ended, named = (counts(start) for start in range(4))
    next(middle)
    middle.send(10)
    ended.close()
    named.__name__, named.__qualname__ = "other", "another.other"
    next(named)
    work, asynchronous = waits_in_a_coroutine(Channel()), gives(Channel(2))
    waiting, closed, iterated = awaits(Buffered()), awaits(None), awaits(Buffered())
    waiting.send(None)
    closed.close()
    step = iterated.__await__()
    step.send(None)
    work.close()
    return [fresh, middle, ended, named, work, asynchronous, waiting, closed, step]


class Buffered:
    """Something to receive from at once."""

    def receive(self):
        return "received"


def result_of(coroutine: Any, value: Any) -> Any:
    """What it returns for that value."""
    try:
        coroutine.send(value)
    except StopIteration as end:
        return end.value
    return "it yields"


def look_at_generators(found: Any) -> Any:
    """Each goes on from where it was."""
    fresh, middle, ended, named, work, asynchronous, waiting, closed, step = found
    seen: list[Any] = [next(fresh), middle.send(1), list(ended), named.send(1)]
    seen += [named.__name__, named.__qualname__, list(work), asynchronous.__name__]
    closed.close()
    return [*seen, result_of(waiting, 1), closed.cr_frame, result_of(step, 2)]


INSIDE = "KeyError('inside')"
GENERATORS_SEEN = [0, 12, [], 4, "other", "another.other", [], "gives"]
GENERATORS_SEEN += [("received", 1), None, ("received", 2)]
FROZEN["generators"] = Program(
    lambda: blocked(runs_generators, Channel()),
    lambda task: give(task, *range(6)).result(),
    [(0, 0), (0, 1), (0, 2), INSIDE, (1, 3), (1, 4), (1, 5), INSIDE],
)
FROZEN["coroutines"] = Program(
    lambda: blocked(runs_coroutines, Channel()),
    lambda task: give(task, *range(3)).result(),
    ["yielded", (0, "yielded"), [1, 2]],
)
FROZEN["held-generators"] = Program(
    lambda: start_holding(kept_generators()),
    lambda task: look_at_generators(held_by(task)),
    GENERATORS_SEEN,
)


# ---- iterators and views


def even(n):
    return n % 2 == 0


ITERATORS: dict[str, Callable[[], Any]] = {
    "list": lambda: iter([1, 2, 3]),
    "dict": lambda: iter({"a": 1, "b": 2}),
    "items": lambda: iter({"a": 1, "b": 2}.items()),
    "set": lambda: iter({7}),
    "callable": lambda: iter([3, 2, 1].pop, 3),
    "enumerate": lambda: enumerate("abc", 5),
    "map": lambda: map(str.upper, "abc"),
    "ordered": lambda: iter(collections.OrderedDict(a=1, b=2)),
    "chain": lambda: itertools.chain("ab", [1], "c"),
    "count": lambda: itertools.islice(itertools.count(5, 3), 4),
    "long count": lambda: itertools.islice(itertools.count(2**80, 3), 4),
    "cycle": lambda: itertools.islice(itertools.cycle("abc"), 7),
    "repeat": lambda: itertools.repeat("x", 4),
    "islice": lambda: itertools.islice("abcdefghij", 2, 9, 3),
    "accumulate": lambda: itertools.accumulate([1, 2, 3, 4]),
    "accumulate from": lambda: itertools.accumulate([2, 3], operator.mul, initial=5),
    "compress": lambda: itertools.compress("abcde", [1, 0, 1, 1, 0]),
    "dropwhile": lambda: itertools.dropwhile(even, [2, 4, 5, 6, 7]),
    "takewhile": lambda: itertools.takewhile(even, [2, 4, 6, 5]),
    "filterfalse": lambda: itertools.filterfalse(even, range(6)),
    "starmap": lambda: itertools.starmap(pow, [(2, 3), (3, 2), (5, 1)]),
    "pairwise": lambda: itertools.pairwise("abcd"),
    "zip longest": lambda: itertools.zip_longest("abc", [1], "xy", fillvalue=0),
    "tee": lambda: itertools.tee("abcd", 2)[1],
    "generator": lambda: (n * n for n in range(4)),
    "batched": lambda: itertools.batched("abcdefg", 3),  # type: ignore[attr-defined]
    "product": lambda: itertools.product("ab", [1, 2]),
    "permutations": lambda: itertools.permutations("abc", 2),
    "combinations": lambda: itertools.combinations("abcd", 2),
    "replacement": lambda: itertools.combinations_with_replacement("abc", 2),
}


def kept_iterators() -> dict[str, Any]:
    """By name: one that has not begun and one that has given an item."""
    found = {}
    for name, make in ITERATORS.items():
        fresh, begun = make(), make()
        next(begun)
        found[name] = (fresh, begun)
    return found


def look_at_iterators(found: Any) -> Any:
    """Those that give the wrong items."""
    return {
        name: rest
        for name, pair in found.items()
        if (rest := [list(each) for each in pair])
        != [list(ITERATORS[name]()), list(ITERATORS[name]())[1:]]
    }


def kept_groups() -> Any:
    """groupby: fresh, within a group, behind one, thawed before; and a group alone."""
    whole, begun, behind = (
        itertools.groupby([1, 1, 2, 3], key) for key in (None, operator.neg, None)
    )
    for groups in (begun, behind):
        _, group = next(groups)
        next(group)
    list(group)
    again = held_by(loomlet.thaw(loomlet.freeze(start_holding(begun))))
    alone = next(itertools.groupby("aab"))[1]
    next(alone)
    return [whole, begun, behind, again, alone]


def look_at_groups(found: Any) -> Any:
    """What is left of them."""
    whole, *others, alone = found
    pairs = [(key, [*group]) for key, group in whole]
    return pairs, [[[*group] for _, group in groups] for groups in others], list(alone)


def kept_dict_views() -> list[Any]:
    """Views of a dict, which comes last, and of an ordered one."""
    data, ordered = {"a": 1}, collections.OrderedDict(b=2)
    views = [
        view for each in (data, ordered) for view in (each.keys(), each.values(), each.items())
    ]
    return [*views, data]


def look_at_dict_views(found: Any) -> Any:
    """They show changes of their dict."""
    *views, data = found
    data["c"] = 3
    return [list(view) for view in views]


def kept_views() -> list[Any]:
    """Views, and proxies of a dict and of a class."""
    views = kept_dict_views()
    return [*views, types.MappingProxyType(views[-1]), vars(Buffered)]


def look_at_views(found: Any) -> Any:
    """The proxy shows the same dict."""
    *views, proxy, of_class = found
    return look_at_dict_views(views), dict(proxy), of_class == vars(Buffered)


GROUPS_SEEN = ([(1, [1, 1]), (2, [2]), (3, [3])], 3 * [[[2], [3]]], ["a"])
VIEWS_SEEN = (
    [["a", "c"], [1, 3], [("a", 1), ("c", 3)], ["b"], [2], [("b", 2)]],
    {"a": 1, "c": 3},
    True,
)
FROZEN["iterators"] = Program(
    lambda: start_holding(kept_iterators()), lambda task: look_at_iterators(held_by(task)), {}
)
FROZEN["groupby"] = Program(
    lambda: start_holding(kept_groups()), lambda task: look_at_groups(held_by(task)), GROUPS_SEEN
)
FROZEN["views"] = Program(
    lambda: start_holding(kept_views()), lambda task: look_at_views(held_by(task)), VIEWS_SEEN
)


# ---- functions, classes, modules, context

ELSEWHERE = """
import contextvars

LIMIT = 5

def outer(ch, step: int = 2, *, more=None):
    "Documented."
    total = LIMIT

    def add(number):
        nonlocal total
        total += number * step
        return total

    class Adder:
        "A class that no other process can import."

        start = total

        @property
        def now(self):
            return add(0)

    return [add(ch.receive()), add(ch.receive()), Adder().now, Adder.start, again(3), more]


def adds(ch):
    total = LIMIT

    def add(number):
        nonlocal total
        total += number
        return total

    return [add(ch.receive()), add(ch.receive()), again(3)]


def again(n):
    return n and n + again(n - 1)


class Plain:
    "Another one, without variables of a function."

    def __init__(self, value):
        self.value = value

    def doubled(self):
        return 2 * self.value
"""


def elsewhere() -> dict[str, Any]:
    """The globals of a module that cannot be imported."""
    space: dict[str, Any] = {"__name__": "not_importable"}
    exec(compile(ELSEWHERE, "elsewhere.py", "exec", dont_inherit=True), space)
    space["outer"].__kwdefaults__ = {"more": space["Plain"](4)}
    space["outer"].note = "an attribute"
    return space


def use_elsewhere(task: Any) -> Any:
    """What outer() returns, with the value that its keyword default has doubled."""
    *seen, plain = give(task, 1, 2).result()
    return [*seen, plain.doubled()]


def look_at_elsewhere(task: Any) -> Any:
    """The attributes of the function that is held."""
    outer = held_by(task)
    return outer.__doc__, outer.__annotations__, outer.note


def wraps(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


class Shape:
    """Functions behind what wraps them."""

    def __init__(self, size):
        self.size = size

    @property
    def area(self):
        return self.size * self.size

    @classmethod
    def unit(cls):
        return cls(1)

    @wraps
    def wrapped(self):
        return self.size


VARIABLE: contextvars.ContextVar[Any] = contextvars.ContextVar("VARIABLE", default=None)


def in_a_context(ch):
    VARIABLE.set("set")
    decimal.getcontext().prec = 7
    ch.receive()
    return VARIABLE.get(), str(decimal.Decimal(1) / 3)


def start_in_a_context() -> Any:
    """In a context without variables: a decimal context is changed, not copied."""
    return contextvars.Context().run(blocked, in_a_context, Channel())


def kept_functions() -> list[Any]:
    """By name, behind a property, a class method, a decorator; bound; cells; code; a module."""
    cell = types.CellType()
    cell.cell_contents = [cell]
    inner = next(c for c in wraps.__code__.co_consts if isinstance(c, types.CodeType))
    behind = [Shape.area.fget, Shape.wrapped, Shape.unit, Shape(3).wrapped]
    bound = types.MethodType(even, 4)
    module = types.ModuleType("made_here")
    module.size = 3  # type: ignore[attr-defined]
    context = contextvars.copy_context()
    context.run(VARIABLE.set, "copied")
    lone = [cell, types.CellType(), inner, compile("1 + 1", "made", "eval"), loomlet, module]
    return [even, *behind, bound, functools.partial(even, 3), *lone, VARIABLE, context]


def look_at_functions(found: Any) -> Any:
    """What each of them does."""
    plain, area, wrapped, unit, method, bound, partial, *rest = found
    cell, empty, inner, code, package, module, variable, context = rest
    seen: list[Any] = [plain(2), area(Shape(4)), wrapped(Shape(5)), unit().size, method()]
    seen += [bound(), partial(), cell.cell_contents[0] is cell, empty == types.CellType()]
    seen += [inner.co_name, eval(code), package is loomlet, module.size]
    return [*seen, variable is VARIABLE, context[VARIABLE]]


FUNCTIONS_SEEN = [True, 16, 5, 1, 3, True, False, True, True, "wrapper", 2, True, 3, True, "copied"]
FROZEN["functions"] = Program(
    lambda: start_holding(kept_functions()),
    lambda task: look_at_functions(held_by(task)),
    FUNCTIONS_SEEN,
)
FROZEN["code-by-value"] = Program(
    lambda: blocked(elsewhere()["outer"], Channel()),
    use_elsewhere,
    [7, 11, 11, 5, 6, 8],
)
FROZEN["by-value-held"] = Program(
    lambda: start_holding(elsewhere()["outer"]),
    look_at_elsewhere,
    ("Documented.", {"step": int}, "an attribute"),
)
FROZEN["context"] = Program(
    start_in_a_context,
    lambda task: give(task, 1).result(),
    ("set", "0.3333333"),
)


# ---- what is public, held by name


def public() -> dict[str, Any]:
    """Every public object that is found by its name, and values of public types."""
    import loomlet.aio
    import loomlet.compat
    import loomlet.net
    import loomlet.observe
    import loomlet.patch
    import loomlet.snapshot
    import loomlet.testing

    modules: list[Any] = [loomlet, loomlet.aio, loomlet.compat, loomlet.net, loomlet.observe]
    modules += [loomlet.patch, loomlet.snapshot, loomlet.testing, blocking, errors]
    return {
        f"{module.__name__}: {name}": getattr(module, name)
        for module in modules
        for name in module.__all__
    }


def kept_public() -> dict[str, Any]:
    """Of these what is code; the others are values."""
    return {name: value for name, value in public().items() if callable(value)}


def look_at_public(found: Any) -> Any:
    """Names that give something else than today; all that was there is there."""
    now = public()
    return [name for name, value in found.items() if now.get(name) is not value]


def kept_values() -> list[Any]:
    """Values of public types."""
    stall: Any = sys.modules[loomlet.on_stall.__globals__["__name__"]]
    thread = Thread(1, 2, True, 3.0, 4, Hold(1, "name", 2.0, "f", "file", 3))
    task = Task(1, "name", "blocked", 2.0, "receive", None, (Target(1, "t", "n", 2, 3),), ())
    thread.tasks.append(task._replace(stack=(Frame("f", "file", 1),)))
    dump = Dump(1, 2.0, [thread])
    return [stall.Stall(None, "file", 1, "f", 2.0), dump, blocking.Limits(1, 2.0, 3.0)]


def look_at_values(found: Any) -> Any:
    """They are equal to those of today."""
    today = [repr(value) for value in kept_values()]
    return [repr(value) == now for value, now in zip(found, today, strict=True)]


FROZEN["public"] = Program(
    lambda: start_holding(kept_public()), lambda task: look_at_public(held_by(task)), []
)
FROZEN["public-values"] = Program(
    lambda: start_holding(kept_values()),
    lambda task: look_at_values(held_by(task)),
    [True, True, True],
)


def kept_again() -> dict[str, Any]:
    """Iterators that were thawed before, each with an item taken before and after."""
    names = ("product", "permutations", "combinations", "replacement")
    found = held_by(loomlet.thaw(loomlet.freeze(start_holding(kept_iterators()))))
    return {name: found[name][1] for name in names if next(found[name][1])}


def look_again(found: Any) -> Any:
    """Those that give the wrong items."""
    return [name for name, rest in found.items() if [*rest] != [*ITERATORS[name]()][2:]]


FROZEN["iterators-again"] = Program(
    lambda: start_holding(kept_again()), lambda task: look_again(held_by(task)), []
)
