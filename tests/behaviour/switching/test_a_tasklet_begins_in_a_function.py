"""Objects that only call a Python function are unwrapped at spawn, so the tasklet is soft."""

import functools
import sys

import pytest

import loomlet
from loomlet import Channel, _core
from loomlet.testing import assert_no_leaks


def plain(ch, *args, **kwargs):
    return ch.receive(), args, kwargs


class Calls:
    """An instance that can be called; so can its subclass's."""

    def __call__(self, ch, *args, **kwargs):
        return plain(ch, *args, **kwargs)

    def method(self, ch, *args, **kwargs):
        return plain(ch, *args, **kwargs)


class Inherits(Calls):
    """Without a __call__ of its own."""


class Twofold:
    """Whose __call__ is bound by hand."""

    def __init__(self):
        self.call = functools.partial(Calls(), k="own")


def of(function, *args, **kwargs):
    return functools.partial(function, *args, **kwargs)


CALLS = {
    "function": (plain, (), {}),
    "method": (Calls().method, (), {}),
    "instance": (Calls(), (), {}),
    "instance of a subclass": (Inherits(), (), {}),
    "partial": (of(plain), (), {}),
    "partial of a method": (of(Calls().method), (), {}),
    "partial of an instance": (of(Calls()), (), {}),
    "partial with keywords": (of(plain, k=1, other=2), (), {"k": 1, "other": 2}),
    "partial of a partial": (of(of(plain, k=1), k=2, j=3), (), {"k": 2, "j": 3}),
    "kept in an attribute": (Twofold().call, (), {"k": "own"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_it_is_called_as_it_would_be(name):
    """Arguments of the call follow those of the partial; keywords go to their parameters."""
    call, _, keywords = CALLS[name]
    ch = Channel()
    task = loomlet.spawn(call, ch, 8, k="given", z=0)
    loomlet.schedule()
    ch.send(5)
    assert task.result() == (5, (8,), {**keywords, "k": "given", "z": 0})
    assert list(task.result()[2]) == list({**keywords, "k": "given", "z": 0})


@pytest.mark.parametrize("name", CALLS)
def test_it_is_soft(name, switches):
    """Such a tasklet keeps no C stack while it waits."""
    ch = Channel()
    task = loomlet.spawn(CALLS[name][0], ch)
    switches.take()
    loomlet.schedule()
    if _core.soft():
        assert switches.take()[1] == 0
        assert _core._tasklet_why(task) is None
    ch.send(5)
    assert task.result()[0] == 5


def test_arguments_in_front():
    """Those of all partials, from the innermost out."""
    ch = Channel(1)
    ch.send(5)
    call = of(of(of(plain, ch), 1, 2), 3)
    assert loomlet.spawn(call, 4).result() == (5, (1, 2, 3, 4), {})


def test_its_name():
    """Is that of the function behind it."""
    task = loomlet.spawn(of(plain, Channel()))
    assert task.name.startswith("plain-")
    task.kill()


class Own(functools.partial):
    """A subclass may do something else."""

    def __call__(self, *args):
        return "own", super().__call__(*args)


def test_a_subclass_of_partial():
    """Its own __call__ is called."""
    assert loomlet.spawn(Own(divmod, 17), 5).result() == ("own", (3, 2))


def test_callables_of_c():
    """Builtin functions and classes are called as they are."""
    assert loomlet.spawn(of(divmod, 17), 5).result() == (3, 2)
    assert loomlet.spawn(of(dict, a=1), b=2).result() == {"a": 1, "b": 2}


@pytest.mark.skipif(not hasattr(functools, "Placeholder"), reason="came with 3.14")
def test_places_left_free():
    """A partial that leaves places free fills them itself."""
    free = functools.Placeholder
    assert loomlet.spawn(of(divmod, free, 5), 17).result() == (3, 2)
    ch = Channel(1)
    ch.send(5)
    assert loomlet.spawn(of(plain, free, 1), ch, 2).result() == (5, (1, 2), {})


def test_wrong_calls(failures):
    """Fail as they do without a tasklet."""
    for call, args in ((of(plain), ()), (Calls(), ()), (of(plain, 1, k=1), (2,))):
        with pytest.raises((TypeError, AttributeError)) as wanted:
            call(*args)
        with pytest.raises(type(wanted.value)) as found:
            loomlet.spawn(call, *args).result()
        assert str(found.value) == str(wanted.value)
    failures.clear()


def test_references():
    """No reference is kept, whether it began or not."""
    extra = object()
    call = of(of(Calls(), extra=extra), more=extra)

    def rounds(count):
        for _ in range(count):
            waiting = loomlet.spawn(call, Channel())
            loomlet.schedule()
            waiting.kill()
            loomlet.spawn(call, Channel(), given=extra).kill()

    rounds(30)
    before = sys.getrefcount(extra)
    with assert_no_leaks(blocks=40):
        rounds(300)
    assert sys.getrefcount(extra) == before


def test_a_class_keeps_its_c_stack():
    """Its C code has work to do when __init__ is done; why_not_freezable() names it."""

    class Waits:
        def __init__(self, ch):
            self.value = ch.receive()

    ch = Channel()
    task = loomlet.spawn(Waits, ch)
    loomlet.schedule()
    if _core.soft():
        assert "it began in <class" in str(loomlet.why_not_freezable(task))
    ch.send(5)
    assert task.result().value == 5
