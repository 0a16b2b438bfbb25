"""Class(...) is soft while its __init__ blocks, inlined or run by C."""

import gc
import weakref

import pytest

import loomlet
from loomlet import Channel


class One:
    def __init__(self, ch):
        self.value = ch.receive()


class Slots:
    __slots__ = ("value",)

    def __init__(self, ch, *more):
        self.value = ch.receive()


class Named(One):
    def __init__(self, ch, name="name"):
        super().__init__(ch)
        assert name == "name"


class Captured:
    def __init__(self, ch):
        self.value = (lambda: (ch.receive(), self)[0])()  # noqa: PLC3002


class Meta(type):
    pass


class WithMeta(metaclass=Meta):
    def __init__(self, ch):
        self.value = ch.receive()


class Rebound:
    """What __init__ calls self is another object by the time it blocks."""

    def __init__(self, ch, other):
        first = self
        self = other  # noqa: PLW0642
        first.value = ch.receive()


class Forgetful:
    def __init__(self, ch):
        first = self
        del self
        first.value = ch.receive()


current = None


class NoArguments:
    def __init__(self):
        self.value = current.receive()


def one(ch):
    return One(ch).value


def slots(ch):
    return Slots(ch).value


def four(ch):
    return Slots(ch, "2", object(), 4.5).value


def derived(ch):
    return Named(ch).value


def captured(ch):
    return Captured(ch).value


def with_meta(ch):
    return WithMeta(ch).value


def rebound(ch):
    other = Rebound.__new__(Rebound)
    made = Rebound(ch, other)
    assert made is not other
    return made.value


def forgetful(ch):
    return Forgetful(ch).value


def no_arguments(ch):
    global current
    current = ch
    return NoArguments().value


def in_an_expression(ch):
    return (1, [2, One(ch).value], 3)[1][1]


def with_keywords(ch):
    return Named(ch, name="name").value


def with_keywords_alone(ch):
    return WithMeta(ch=ch).value


def rebound_with_keywords(ch):
    other = Rebound.__new__(Rebound)
    made = Rebound(other=other, ch=ch)
    assert made is not other
    return made.value


BODIES = [one, slots, four, derived, captured, with_meta, rebound, forgetful, no_arguments,
          in_an_expression, with_keywords, with_keywords_alone, rebound_with_keywords]  # fmt: skip
CLASSES = [One, Slots, Named, Captured, WithMeta, Rebound, Forgetful, NoArguments]


@pytest.mark.parametrize("rounds", [1, 100])
@pytest.mark.parametrize("body", BODIES)
def test_the_switch_is_soft(body, rounds, ends, switches):
    """A class is called softly the first time and the hundredth."""
    ends.stays_soft(body, rounds, switches)


@pytest.mark.parametrize("body", BODIES)
def test_every_end(body, ends, mode):
    """A value, an exception, and the end of the tasklet leave nothing behind."""
    names = ends.thrown(body)
    assert names[:2] == [body.__name__, "__init__"]
    watched = CLASSES + [each.__init__ for each in CLASSES]
    kept = body is no_arguments  # by a global name
    ends.leave_nothing(body, *watched, soft=not kept)


@pytest.mark.parametrize("body", BODIES)
def test_the_arguments_are_released(body, ends, mode):
    """Nothing keeps the arguments and the object after the call."""
    ch, task = ends.suspended(body)
    gone = weakref.ref(ch)
    ch.send(5)
    task.result()
    no_arguments(Full())
    del ch, task
    gc.collect()
    assert gone() is None


class Full:
    def receive(self):
        return 5


def test_init_must_return_none(ends, mode):
    """An __init__ that returns something after it blocked is the usual TypeError."""

    class Wrong:
        def __init__(self, ch):
            return ch.receive()  # noqa: PLE0101

    def body(ch):
        with pytest.raises(TypeError, match=r"__init__\(\) should return None, not 'int'"):
            Wrong(ch)
        return "refused"

    assert ends.value(body) == "refused"


def test_init_may_block_often(switches):
    """An __init__ that blocks many times, with calls of other classes in between."""

    class Tree:
        def __init__(self, ch, depth):
            self.value = ch.receive()
            self.branches = [Tree(ch, depth - 1) for _ in range(2)] if depth else []

        def total(self):
            return self.value + sum(branch.total() for branch in self.branches)

    ch = Channel()
    task = loomlet.spawn(lambda: Tree(ch, 3).total())
    for value in range(15):
        loomlet.schedule()
        ch.send(value)
    assert task.result() == sum(range(15))
    assert switches.take()[1] == 0


Error = type("Error", (Exception,), {"__init__": One.__init__})
New = type("New", (One,), {"__new__": lambda cls, _: object.__new__(cls)})
Meta = type("Meta", (type,), {"__call__": lambda cls, value: type.__call__(cls, value)})
Made = Meta("Made", (One,), {})
Hidden = type(
    "Hidden", (One,), {"__init__": property(lambda self: lambda ch: One.__init__(self, ch))}
)

REFUSED = {
    "names of a dictionary": lambda ch: Named(**{"ch": ch, "name": "name"}).value,
    "five arguments": lambda ch: Slots(ch, 2, 3, 4, 5).value,
    "exception": lambda ch: Error(ch).value,
    "__new__": lambda ch: New(ch).value,
    "__call__ of the metaclass": lambda ch: Made(ch).value,
    "not a function": lambda ch: Hidden(ch).value,
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_other_ways_to_make_an_object(body, ends, mode):
    """Calls whose C code is not known in full block all the same."""
    for _ in range(3):
        assert ends.value(body) == 5
    ends.leave_nothing(body, *CLASSES, soft=False)


@pytest.mark.parametrize(
    "body", [lambda cls: cls(cls()).value, lambda cls: cls(ch=cls(ch=None)).value]
)
def test_a_destructor_is_not_taken_for_init(mode, body):
    """An argument that dies after the call may run the function that the call ran."""

    class Both:
        def __init__(self, ch=None):
            self.value = [channel.receive(), ch][0]

        __del__ = __init__

    channel = Channel()
    task = loomlet.spawn(body, Both)
    for value in range(4):
        loomlet.schedule()
        channel.send(value)
    assert task.result() == 1
