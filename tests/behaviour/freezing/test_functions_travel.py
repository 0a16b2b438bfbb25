"""Functions go by name where another process can import them, else by value with attributes."""

import copyreg
import dataclasses
import enum
import functools
import gc
import importlib
import itertools
import operator
import sys
import types
from typing import ClassVar

import pytest
from helpers_frozen_tasklets import resumed, waiting

import loomlet
from loomlet import Channel


def plain(x):
    return x + 1


def deco(function):
    @functools.wraps(function)
    def wrapper(*args):
        return "wrapped", function(*args)

    return wrapper


@deco
def decorated(x):
    return x


shout = lambda text: text.upper()  # noqa: E731


class Shape:
    """Functions of every kind."""

    def __init__(self, side):
        self._side = side

    def area(self):
        return self._side**2

    @property
    def side(self):
        return self._side

    @staticmethod
    def none():
        return "static"

    @classmethod
    def make(cls):
        return cls(5)

    @functools.cached_property
    def slow(self):
        return -self._side


BY_NAME = {
    "plain": plain,
    "decorated": decorated,
    "what a decorator holds": decorated.__wrapped__,
    "a lambda of the module": shout,
    "method": Shape.area,
    "getter": Shape.side.fget,
    "static": Shape.none,
    "classmethod": Shape.make.__func__,
    "cached": Shape.__dict__["slow"].func,
    "class": Shape,
    "builtin": len,
    "builtin type": int,
    "type without a name": type(None),
    "type of functions": types.FunctionType,
    "of C": operator.add,
    "module": sys,
    "generic": list[int],
}


@pytest.mark.parametrize("name", BY_NAME)
def test_by_name(copied, name):
    """The very object comes back."""
    assert copied(BY_NAME[name]) == BY_NAME[name]
    if name != "generic":
        assert copied(BY_NAME[name]) is BY_NAME[name]


def test_methods(copied):
    """Bound to a copy of their object, or to their class."""
    square = Shape(3)
    assert copied(square.area)() == 9
    assert copied(Shape.make)().area() == 25
    both = copied([square, square.area])
    assert both[1].__self__ is both[0]
    assert copied([1, 2].index)(2) == 1
    assert copied("text".__add__)("s") == "texts"
    odd = types.MethodType(plain, 6)
    assert copied(odd)() == 7


def test_partials_and_operators(copied):
    """What functools and operator make."""
    assert copied(functools.partial(plain, 3))() == 4
    assert copied(operator.itemgetter(1))("ab") == "b"
    assert copied(operator.attrgetter("side"))(Shape(2)) == 2


def inner(base):
    def add(x: int = 1, *rest: "str", scale=2) -> float:
        """Adds."""
        return scale * (base + x)

    return add


def test_closures(copied):
    """By value, with their attributes; their code by the way to it."""
    function = inner(10)
    function.mark = ["own"]
    copy = copied(function)
    assert copy is not function
    assert copy.__code__ is function.__code__
    assert copy() == 22
    assert copy.__globals__ is globals()
    for part in ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "mark"):
        assert getattr(copy, part) == getattr(function, part)
    assert copy.__kwdefaults__ == {"scale": 2}
    assert copy.__annotations__ == {"x": int, "rest": "str", "return": float}


def test_changed_attributes(copied):
    """Names and defaults that were set later."""
    function = inner(1)
    function.__name__, function.__qualname__, function.__doc__ = "n", "q", None
    function.__defaults__, function.__module__ = (5,), "elsewhere"
    copy = copied(function)
    assert (copy.__name__, copy.__qualname__, copy.__doc__) == ("n", "q", None)
    assert (copy(), copy.__module__) == (12, "elsewhere")


def test_functions_that_call_themselves(copied):
    """The circle closes through the cell."""

    def down(n):
        return [n] if n == 0 else [n, *down(n - 1)]

    copy = copied(down)
    assert copy(3) == [3, 2, 1, 0]
    assert copy.__closure__[0].cell_contents is copy


def test_functions_that_call_each_other(copied):
    """A circle of two, an attribute that is the function, a default that holds it."""

    def even(n, log=[]):  # noqa: B006
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    even.me = even
    even.__defaults__[0].append(even)
    one, other = copied([even, odd])
    assert one(10)
    assert other(7)
    assert one.me is one
    assert one.__defaults__[0] == [one]
    assert one.__closure__[0].cell_contents is other


def counter():
    count = 0

    def up():
        nonlocal count
        count += 1
        return count

    def seen():
        return count

    return up, seen


def test_cells_stay_shared(copied):
    """Two closures and a frame over one variable."""
    up, seen = copied(counter())
    assert (up(), up(), seen()) == (1, 2, 2)

    def body(ch):
        total = 1

        def add(n):
            nonlocal total
            total += n

        ch.receive()
        add(5)
        return total

    assert resumed(loomlet.thaw(loomlet.freeze(waiting(body, Channel())))) == 6


def test_local_classes(copied):
    """By cloudpickle, with functions that share their cells with the tasklet."""
    log = []

    class Local:
        def put(self, x):
            log.append(x)
            return super().__repr__() and self

    kind, entries = copied([Local, log])
    made = kind().put(3)
    assert isinstance(made, kind)
    assert (entries, log) == ([3], [])


def test_an_existing_class_is_not_changed(copied):
    """Thawing in the process that froze changes nothing about the original."""

    class Plain:
        limit: ClassVar = [1]

        def twice(self):
            return super().__hash__() and self.limit * 2

    copyreg._slotnames(Plain)  # pickle leaves a note in the class
    before = dict(Plain.__dict__)
    limit, made = copied([Plain.limit, Plain()])
    assert type(made) is Plain
    assert made.twice() == [1, 1]
    assert dict(Plain.__dict__) == before
    assert limit is not Plain.limit


def test_a_class_with_the_variables_of_a_frame(copied):
    """Is made anew, so that it shares them with what was frozen along, not with the original."""
    log = []

    class Local:
        @deco
        def put(self, x):
            log.append(x)

        here = property(lambda self: log)

    kind, entries = copied([Local, log])
    kind().put(1)
    Local().put(2)
    assert (entries, log) == ([1], [2])
    assert (kind().here, kind.__qualname__) == ([1], Local.__qualname__)
    assert copied(Local) is not kind


class Unpickled(enum.Enum):
    """Used below; enumerations of functions keep their members."""

    ONE = 1


def test_local_enumerations(copied):
    """And data classes, and abstract ones."""

    class Colour(enum.Enum):
        RED = 1

    @dataclasses.dataclass
    class Point:
        x: int = 0

    members, point = copied([[Colour.RED, Unpickled.ONE], Point(3)])
    assert members == [Colour.RED, Unpickled.ONE]
    assert point == Point(3)


def program(text, name="__main__"):
    """The globals of a module that cannot be imported."""
    space = {"__name__": name}
    exec(text, space)
    return space


def test_main_functions(copied):
    """With the globals that they use, shared within one freeze, and nothing else."""
    space = program(
        "import operator\n"
        "limit, unused = [3], open(__import__('os').devnull)\n"
        "def one(x):\n    limit.append(x)\n    return two(x)\n"
        "def two(x):\n    return operator.neg(x), limit\n"
        "def me():\n    return one, me\n"
    )
    one, two, me = copied([space["one"], space["two"], space["me"]])
    assert one(4) == (-4, [3, 4])
    assert two(5) == (-5, [3, 4])
    assert me() == (one, me)
    assert one.__globals__ is two.__globals__ is not space
    assert "unused" not in one.__globals__
    assert space["limit"] == [3]
    space["unused"].close()


def test_modules_that_cannot_be_imported(copied):
    """By cloudpickle, as a module with its content."""
    made = types.ModuleType("made_here")
    made.value = 5
    assert copied(made).value == 5


def test_nested_lambdas_of_one_line(copied):
    """Code of the same name is distinguished by its place."""
    pair = [lambda: 1, lambda: 2]
    copies = copied(pair)
    assert [copy() for copy in copies] == [1, 2]
    assert [copy.__code__ for copy in copies] == [f.__code__ for f in pair]


def test_globals_of_a_module_are_shared():
    """A function of an importable module sees the module's globals, as they are now."""

    def body(ch):
        ch.receive()
        return next(TICKS)

    data = loomlet.freeze(waiting(body, Channel()))
    assert [resumed(loomlet.thaw(data)) for _ in range(2)] == [0, 1]


TICKS = itertools.count()


@pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="without the GIL the interpreter itself may keep a function that is gone",
)
def test_nothing_is_kept_of_a_function_that_is_gone(tmp_path, monkeypatch):
    """Cached facts about its code are freed with it."""
    from loomlet.snapshot import _code, _importable

    (tmp_path / "short_lived.py").write_text(
        "def outer():\n    def body(ch):\n        return ch.receive()\n    return body\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def known():
        return len(_code.DIGESTS), len(_importable._nested)

    gc.collect()
    before = known()
    made = importlib.import_module("short_lived").outer()
    loomlet.freeze(waiting(made, Channel()))
    assert known() > before
    del made, sys.modules["short_lived"]
    for task in loomlet._core.tasklets()[1:]:
        task.kill()
    del task
    gc.collect()
    assert known() == before
