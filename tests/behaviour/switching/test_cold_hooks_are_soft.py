"""Properties, __getattr__, __getattribute__ and __getitem__ are soft, inlined or run by C."""

import sys

import pytest

import loomlet
from loomlet import Channel


class Plain:
    def __init__(self, ch):
        self.ch = ch

    @property
    def value(self):
        return self.ch.receive()

    def __getitem__(self, key):
        return self.ch.receive()


class Slots:
    __slots__ = ("ch",)

    def __init__(self, ch):
        self.ch = ch

    value = property(lambda self: self.ch.receive())

    def __getitem__(self, key):
        return (lambda: self.ch.receive())()  # noqa: PLC3002


class Fallback:
    def __init__(self, ch):
        self.ch = ch

    def __getattr__(self, name):
        assert name in ("value", "real")
        return self.ch.receive()


class Always:
    def __init__(self, ch):
        object.__setattr__(self, "ch", ch)

    def __getattribute__(self, name):
        return object.__getattribute__(self, "ch").receive()


def of_property(ch):
    plain = Plain(ch)
    return plain.value


def of_temporary(ch):
    return Plain(ch).value


def of_lambda(ch):
    return Slots(ch).value


def of_fallback(ch):
    return Fallback(ch).value


def of_getattribute(ch):
    return Always(ch).value


def item(ch):
    plain = Plain(ch)
    return plain["key"]


def item_of_temporary(ch):
    return Slots(ch)[object()]


def called_property(ch):
    return Plain(ch).value.__add__(0)


def called_fallback(ch):
    return Fallback(ch).value.__add__(0)


def called_getattribute(ch):
    return Always(ch).value.__add__(0)


def in_an_expression(ch):
    plain = Plain(ch)
    return (1, [2, plain.value], 3)[1][1]


BODIES = [of_property, of_temporary, of_lambda, of_fallback, of_getattribute, item,
          item_of_temporary, called_property, called_fallback, called_getattribute,
          in_an_expression]  # fmt: skip
WATCHED = [
    Plain, Slots, Fallback, Always, Plain.value, Plain.value.fget, Slots.value, Slots.value.fget,
    Plain.__getitem__, Slots.__getitem__, Fallback.__getattr__, Always.__getattribute__,
    sys.intern("value"), sys.intern("key"),
]  # fmt: skip


@pytest.mark.parametrize("rounds", [1, 100])
@pytest.mark.parametrize("body", BODIES)
def test_the_switch_is_soft(body, rounds, ends, switches):
    """A hook suspends without a C stack in its first call and in the hundredth."""
    ends.stays_soft(body, rounds, switches)


@pytest.mark.parametrize("body", BODIES)
def test_every_end(body, ends, mode):
    """A value, an exception, and the end of the tasklet leave nothing behind."""
    names = ends.thrown(body)
    assert names[0] == body.__name__
    assert len(names) in (2, 3)
    ends.leave_nothing(body, *WATCHED)


def test_a_hook_may_block_often(switches):
    """A hook that continues and blocks again, with plain calls and hooks of its own."""

    class Often:
        def __init__(self, ch):
            self.ch = ch

        def one(self):
            return self.ch.receive()

        @property
        def two(self):
            return self.one() + self.ch.receive()

        def __getitem__(self, count):
            return sum([self.two for _ in range(count)]) + self.one()

    ch = Channel()
    task = loomlet.spawn(lambda: Often(ch)[2] + Often(ch).two)
    for value in range(7):
        loomlet.schedule()
        ch.send(value)
    assert task.result() == sum(range(7))
    assert switches.take()[1] == 0


def test_attribute_errors(ends, mode):
    """An AttributeError that __getattr__ raises after it blocked has its object and name."""

    class Lacking:
        def __init__(self, ch):
            self.ch = ch

        def __getattr__(self, name):
            self.ch.receive()
            raise AttributeError("not there")

    def read(ch):
        lacking = Lacking(ch)
        try:
            return lacking.other
        except AttributeError as error:
            return error.name, error.obj is lacking, error.args

    assert ends.value(read) == ("other", True, ("not there",))


def test_attribute_errors_of_a_property(ends, mode):
    """An AttributeError of a property comes up; the interpreter adds its name when it is cold."""

    class Lacking:
        def __init__(self, ch):
            self.ch = ch

        @property
        def gone(self):
            self.ch.receive()
            raise AttributeError("not there")

    def read(ch):
        lacking = Lacking(ch)
        try:
            return lacking.gone
        except AttributeError as error:
            return error.name in ("gone", None), error.obj in (lacking, None), error.args

    assert ends.value(read) == (True, True, ("not there",))


def test_a_property_that_fails_goes_to_getattr(ends, mode):
    """__getattr__ sees the AttributeError of a property, also after it blocked."""

    class Both:
        def __init__(self, ch):
            self.ch = ch

        @property
        def value(self):
            raise AttributeError(self.ch.receive())

        def __getattr__(self, name):
            return name

    assert ends.value(lambda ch: Both(ch).value) == "value"


def test_a_failed_getattribute_goes_to_getattr(ends, mode):
    """__getattr__ is asked when __getattribute__ fails, also after it blocked."""

    class Both:
        def __getattribute__(self, name):
            raise AttributeError(channel.receive())

        def __getattr__(self, name):
            return name

    def body(ch):
        nonlocal channel
        channel = ch
        return Both().value

    channel = None
    assert ends.value(body) == "value"


def test_a_destructor_is_not_taken_for_the_hook(ends, mode):
    """An operand that dies after the call may run the function that the call ran."""

    class Twice:
        def __init__(self, ch):
            self.ch = ch

        def get(self, key=None):
            return self.ch.receive()

        value = property(get)
        __getitem__ = get
        __del__ = get

    for body in (lambda ch: Twice(ch).value, lambda ch: Twice(ch)[0]):
        for _ in range(50):
            ch = Channel()
            task = loomlet.spawn(body, ch)
            loomlet.schedule()
            ch.send(5)
            loomlet.schedule()
            ch.send(6)
            assert task.result() == 5
