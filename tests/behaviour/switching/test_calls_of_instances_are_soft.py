"""object(...) with a __call__ in Python is soft, and so is Class(...) by a metaclass."""

import pytest

import loomlet
from loomlet import Channel


class Tool:
    def __init__(self, ch=None):
        self.ch = ch

    def __call__(self, *more, **named):
        return (self.ch or more[0]).receive()


class Derived(Tool):
    """Inherits it."""


class Outer(Tool):
    """Its call calls another one."""

    def __call__(self):
        return self.ch()


class Slotted:
    __slots__ = ()

    def __call__(self, ch, second=None):
        return ch.receive()


class Meta(type):
    def __call__(cls, ch):
        return ch.receive()


class Made(metaclass=Meta):
    pass


class Static:
    @staticmethod
    def __call__(ch):
        return ch.receive()


def plain(ch):
    tool = Tool(ch)
    return tool()


def with_argument(ch):
    tool = Derived()
    return tool(ch)


def with_four_arguments(ch):
    tool = Tool()
    return tool(ch, [], [], [])


def of_a_temporary(ch):
    return Tool(ch)()


def with_slots(ch):
    call = Slotted()
    return call(ch)


def as_an_attribute(ch):
    owner = Tool()
    owner.tool = Tool(ch)
    return owner.tool(1)


def one_in_another(ch):
    outer = Outer(Tool(ch))
    return outer()


def of_a_class_by_a_metaclass(ch):
    return Made(ch)


def with_keywords(ch):
    tool = Tool(ch)
    return tool(a=1)


def with_keywords_alone(ch):
    call = Slotted()
    return call(second=[], ch=ch)


def with_some_and_keywords(ch):
    return Tool(ch)(1, [], 3, a=[], b=2, c=ch)


def of_a_class_with_keywords(ch):
    return Made(ch=ch)


def with_names_of_a_dictionary(ch):
    tool = Tool(ch)
    return tool(**{"a": 1})


def with_many_keywords(ch):
    tool = Tool(ch)
    return tool(1, a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8, i=9, j=10, k=[])


def with_five_and_keywords(ch):
    tool = Tool(ch)
    return tool(1, 2, 3, 4, 5, a=1)


def with_five_arguments(ch):
    tool = Tool(ch)
    return tool(1, 2, 3, 4, 5)


def of_a_static_method(ch):
    tool = Static()
    return tool(ch)


SOFT = [
    plain,
    with_argument,
    with_four_arguments,
    of_a_temporary,
    with_slots,
    as_an_attribute,
    one_in_another,
    of_a_class_by_a_metaclass,
    with_keywords,
    with_keywords_alone,
    with_some_and_keywords,
    of_a_class_with_keywords,
]
OTHERS = [
    with_many_keywords,
    with_names_of_a_dictionary,
    with_five_arguments,
    with_five_and_keywords,
    of_a_static_method,
]


@pytest.mark.parametrize("body", SOFT)
def test_it_keeps_no_stack(body, ends, switches):
    ends.stays_soft(body, 20, switches)


@pytest.mark.parametrize("body", [*SOFT, *OTHERS])
def test_the_value_is_right(body, ends, mode):
    for _ in range(5):
        assert ends.value(body) == 5


@pytest.mark.parametrize("body", [*SOFT, *OTHERS])
def test_it_leaves_nothing(body, ends, mode):
    assert ends.thrown(body)[0] == body.__name__
    ends.leave_nothing(body, Tool.__call__, Slotted.__call__, Meta.__call__, soft=body in SOFT)


@pytest.mark.parametrize("body", SOFT)
def test_it_freezes(body, ends, switches):
    ends.freezes(body)


def test_an_object_that_dies_in_its_call(mode):
    """The call alone refers to it and to its argument."""
    ch, log = Channel(), []

    class Mortal:
        def __call__(self, what):
            log.append(what.receive())

        def __del__(self):
            log.append("deleted")

    def body():
        Mortal()(ch)
        log.append("end")

    task = loomlet.spawn(body)
    loomlet.schedule()
    ch.send(1)
    task.join()
    assert log == [1, "deleted", "end"]
