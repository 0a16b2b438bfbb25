"""Waiting below the C code that is left out of a suspended stack: `__init__`, hooks, next, partial.

Each is met cold in a process that thaws, and warm in the one where the suite runs them all.
"""

import contextvars
from functools import partial

VARIABLE = contextvars.ContextVar("VARIABLE", default="outside")


class Hooked:
    """Waits in its property and when an item is asked for."""

    def __init__(self, ch, log=None):
        self.ch = ch
        self.log = [] if log is None else log

    @property
    def here(self):
        self.log.append("here")
        return self.ch.receive()

    def __getitem__(self, key):
        return key, self.ch.receive()


class Searched:
    """Waits when an attribute is not there."""

    def __init__(self, ch):
        self.ch = ch

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return name, self.ch.receive()


def property_of_an_instance(ch):
    it = Hooked(ch)
    return it.here + it.here, it.log


def attribute_hook(ch):
    it = Searched(ch)
    return it.one, it.two, it.three


def item_hook(ch):
    it = Hooked(ch)
    return it[0], it["key"], it[1:5:2]


def hooks_in_an_expression(ch):
    it, more = Hooked(ch), Searched(ch)
    return [it.here, (more.name, it[it.here]), f"{it.here}"], it.log


class Deep(Hooked):
    """Hooks that need other hooks."""

    @property
    def here(self):
        return self["item"], Searched(self.ch).other

    def __getitem__(self, key):
        return super().__getitem__(key), self.ch.receive()


def hooks_in_hooks(ch):
    it = Deep(ch)
    return it.here, it.log


class Pair:
    """Waits while it is made."""

    def __init__(self, ch, first, second=0):
        self.values = [first, ch.receive(), second, ch.receive()]


class Longer(Pair):
    """So does its base."""

    def __init__(self, ch, first):
        self.before = ch.receive()
        super().__init__(ch, first, self.before)
        self.after = ch.receive()


def init_with_arguments(ch):
    return Pair(ch, 7).values, Pair(ch, 7, 8).values


def init_of_a_subclass(ch):
    made = Longer(ch, 7)
    return made.before, made.values, made.after


class Tree:
    """An `__init__` that makes others of its kind."""

    def __init__(self, ch, depth):
        self.value = ch.receive()
        self.branches = [Tree(ch, depth - 1) for _ in range(2)] if depth else []

    def __iter__(self):
        yield self.value
        for branch in self.branches:
            yield from branch


def init_in_init(ch):
    return list(Tree(ch, 2))


def init_in_a_loop(ch):
    return [Pair(ch, n).values for n in range(12)]


def bent(ch, a, b=2, *rest, plus=0, **more):
    return a, b, rest, plus + ch.receive(), more


def partial_objects(ch):
    first, second = partial(bent, ch, 1), partial(bent, ch)
    third = partial(second, 2)
    return first(), third(), first()


def partial_in_a_loop(ch):
    take = partial(bent, ch, 1, 2, 3)
    return [take() for _ in range(12)]


class Methods:
    """partial of methods, and of classes."""

    def __init__(self, ch, value):
        self.ch = ch
        self.value = value

    def take(self, a, b):
        return self.value, a, b, self.ch.receive()


def partial_of_methods(ch):
    take = partial(Methods(ch, 1).take, 2, 3)
    return take(), take()


def waiting_numbers(ch, count):
    for n in range(count):
        got = yield n, ch.receive()
        if got is not None:
            yield "got", got, ch.receive()


def generators_by_next(ch):
    source = waiting_numbers(ch, 3)
    return next(source), next(source), next(source), next(source, "end")


def generators_by_send(ch):
    source = waiting_numbers(ch, 2)
    return source.send(None), source.send("x"), next(source), list(zip(source, "a", strict=False))


def cold_loops(ch):
    return [[item for item in waiting_numbers(ch, 2)] for _ in range(3)]


def all_of_them(ch):
    take, source = partial(bent, ch, 1), waiting_numbers(ch, 1)
    made, more = Hooked(ch), Searched(ch)
    pairs = [Pair(ch, item) for item in waiting_numbers(ch, 2)]
    return made.here, more.name, made[next(source)], take(), [pair.values for pair in pairs]


def in_the_midst_of_sorting(ch):
    return sorted([3, 1, 2], key=lambda value: (value, ch.receive()))


def in_contexts(ch):
    """One context in another one, each with its own value."""
    outer, inner = contextvars.Context(), contextvars.Context()

    def innermost(ch):
        VARIABLE.set("inner")
        return ch.receive(), VARIABLE.get()

    def between(ch):
        VARIABLE.set("outer")
        call = innermost
        found = inner.run(call, ch)
        return found, ch.receive(), VARIABLE.get()

    call, run = between, outer.run
    found = run(call, ch)
    return found, VARIABLE.get(), outer[VARIABLE], inner[VARIABLE], ch.receive()
