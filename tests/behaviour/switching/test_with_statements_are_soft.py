"""`with` whose __enter__ or __exit__ is written in Python and waits is soft."""

import contextlib
import sys

import pytest

import loomlet
from loomlet import Channel

ORDINARY_CALLS = sys.version_info >= (3, 14)  # of both methods, so nothing need be known of them


class Enters:
    """Waits before the block."""

    def __init__(self, ch):
        self.ch = ch

    def __enter__(self):
        return self.ch.receive()

    def __exit__(self, kind, error, trace):
        return False


class Leaves(Enters):
    """Waits behind the block."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.value = self.ch.receive()
        return kind is LookupError


class Slotted:
    __slots__ = ("ch",)

    def __enter__(self):
        return self.ch.receive()

    def __exit__(self, *error):
        return None


class Static(Enters):
    """Its __exit__ is no method of a Python function."""

    @staticmethod
    def __exit__(kind, error, trace):
        return False


entered = []  # what LeavesByFunction.__exit__() needs; no block of it waits


class LeavesByFunction(Enters):
    """Waits behind the block in a function that is no method."""

    def __enter__(self):
        found = []
        entered.append((self.ch, found))
        return found

    @staticmethod
    def __exit__(kind, error, trace):
        ch, found = entered.pop()
        found.append(ch.receive())
        return kind is LookupError


def enter(ch):
    manager = Enters(ch)
    with manager as value:
        pass
    return value


def enter_temporary(ch):
    with Enters(ch) as value:
        return value


def enter_several(ch):
    with Leaves(ready(0)), Enters(ch) as value, Enters(ready(1)) as one:
        assert one == 1
    return value


def enter_with_slots(ch):
    manager = Slotted()
    manager.ch = ch
    with manager as value:
        pass
    return value


def enter_in_a_generator(ch):
    def generate():
        with Enters(ch) as value:
            yield value

    for value in generate():
        return value


def leave(ch):
    manager = Leaves(ch)
    with manager:
        pass
    return manager.value


def leave_by_return(ch):
    def inner(manager):
        with manager:
            return manager

    return inner(Leaves(ch)).value


def leave_a_temporary(ch):
    with Leaves(ch) as manager:
        pass
    return manager.value


def leave_with_exception(ch):
    with Leaves(ch) as manager:
        raise LookupError
    return manager.value


def leave_both(ch):
    with Leaves(ch) as outer, Leaves(ready(1)) as inner:
        raise LookupError
    return outer.value if inner.value == 1 else None


def enter_beside_a_static_exit(ch):
    with Static(ch) as value:
        pass
    return value


def leave_by_a_static_method(ch):
    with LeavesByFunction(ch) as found:
        pass
    return found[0]


def leave_by_a_static_method_with_exception(ch):
    with LeavesByFunction(ch) as found:
        raise LookupError
    return found[0]


def enter_by_contextlib(ch):
    @contextlib.contextmanager
    def manage():
        yield ch.receive()

    with manage() as value:
        pass
    return value


def ready(value):
    """A channel from which the value can be received."""
    ch = Channel(1)
    ch.send(value)
    return ch


SOFT = [
    enter,
    enter_temporary,
    enter_several,
    enter_with_slots,
    enter_in_a_generator,
    leave,
    leave_by_return,
    leave_a_temporary,
    leave_with_exception,
    leave_both,
    leave_by_a_static_method_with_exception,
]
SOMETIMES = [enter_beside_a_static_exit, leave_by_a_static_method]
if ORDINARY_CALLS:
    SOFT += SOMETIMES
ALL = [*SOFT, *([] if ORDINARY_CALLS else SOMETIMES), enter_by_contextlib]


@pytest.mark.parametrize("body", SOFT)
def test_it_keeps_no_stack(body, ends, switches):
    ends.stays_soft(body, 20, switches)


@pytest.mark.parametrize("body", ALL)
def test_the_value_is_right(body, ends, mode):
    for _ in range(5):
        assert ends.value(body) == 5


@pytest.mark.parametrize("body", ALL)
def test_it_leaves_nothing(body, ends, mode):
    assert ends.thrown(body)[0] == body.__name__
    ends.leave_nothing(
        body, Enters.__enter__, Enters.__exit__, Leaves.__exit__, Leaves, soft=body in SOFT
    )


@pytest.mark.parametrize("how", ["enter", "leave", "leave with exception"])
def test_an_exception_comes_out_of_the_statement(how, mode, caught):
    """If __enter__ fails there is no __exit__; if that fails, the block's error is its context."""
    ch, log = Channel(), []

    class Logged(Leaves if how != "enter" else Enters):
        def __exit__(self, *error):
            log.append(error[0])
            return super().__exit__(*error)

    def body():
        with Logged(ch):
            log.append("block")
            if how == "leave with exception":
                raise ZeroDivisionError

    task = caught(body)
    loomlet.schedule()
    task.throw(KeyError("thrown"))
    error = task.result()
    assert repr(error) == "KeyError('thrown')"
    inside = ZeroDivisionError if how == "leave with exception" else None
    assert log == ([] if how == "enter" else ["block", inside])
    assert isinstance(error.__context__, inside or type(None))


@pytest.mark.parametrize("body", [enter, leave, leave_with_exception, leave_both])
def test_it_freezes(body, ends, switches):
    ends.freezes(body)


def test_a_manager_that_dies_in_its_statement(mode):
    """Nothing but the statement refers to it; its __del__ waits as well."""
    ch, log = Channel(), []

    class Mortal(Enters):
        def __del__(self):
            log.append("deleted")

        def __exit__(self, *error):
            log.append(self.ch.receive())

    def body():
        with Mortal(ch) as value:
            log.append(value)
        log.append("end")

    task = loomlet.spawn(body)
    loomlet.schedule()
    ch.send(1)
    ch.send(2)
    task.join()
    assert log == [1, 2, "deleted", "end"]
