"""`loomlet.compat.greenlet` does what greenlet's documentation says."""

from __future__ import annotations

import contextvars
import copy
import gc
import pickle
import sys
import threading
import weakref

import pytest

from loomlet.compat import greenlet as module
from loomlet.compat.greenlet import GreenletExit, error, getcurrent, greenlet


def to_parent(*args: object, **kwargs: object) -> object:
    """Hands over to the parent of the running greenlet."""
    return getcurrent().parent.switch(*args, **kwargs)


def test_the_documented_example() -> None:
    """Two greenlets take turns; the one that is not switched to again never ends."""
    seen: list[int] = []

    def one() -> None:
        seen.append(12)
        second.switch()
        seen.append(34)

    def two() -> None:
        seen.append(56)
        first.switch()
        seen.append(78)

    first, second = greenlet(one), greenlet(two)
    first.switch()
    assert seen == [12, 56, 34]
    assert first.dead
    assert not second.dead


@pytest.mark.parametrize(
    ("args", "kwargs", "result"),
    [
        ((), {}, ()),
        ((1,), {}, 1),
        ((1, 2), {}, (1, 2)),
        ((), {"a": 1}, {"a": 1}),
        ((1,), {"a": 2}, ((1,), {"a": 2})),
    ],
)
def test_what_a_switch_hands_over(args, kwargs, result) -> None:
    """In both directions, and to itself."""
    other = greenlet(lambda *a, **k: to_parent(to_parent(*a, **k)))
    assert other.switch(*args, **kwargs) == result
    assert other.switch(*args, **kwargs) == result
    assert getcurrent().switch(*args, **kwargs) == result


def test_the_first_switch_passes_arguments_and_the_result_goes_to_the_parent() -> None:
    """A greenlet that has ended passes everything on to its parent."""
    child = greenlet(lambda a, b=0: a + b)
    assert child.switch(1, b=2) == 3
    assert child.dead
    assert not child
    assert child.switch("x") == "x"
    with pytest.raises(KeyError):
        child.throw(KeyError)


def test_an_exception_goes_to_the_parent() -> None:
    """With the traceback of where it was raised, and without a new context."""
    child = greenlet(lambda: 1 / 0)
    try:
        raise KeyError
    except KeyError:
        with pytest.raises(ZeroDivisionError) as caught:
            child.switch()
    assert caught.value.__context__ is None
    assert [entry.name for entry in caught.traceback][-1] == "<lambda>"


def test_greenlet_exit_is_a_result() -> None:
    """Raised by throw(), by the function itself, and in one that has not begun or has ended."""
    child = greenlet(to_parent)
    child.switch()
    assert isinstance(child.throw(), GreenletExit)
    assert child.dead
    assert isinstance(child.throw(), GreenletExit)
    new = greenlet(to_parent)
    assert isinstance(new.throw(), GreenletExit)
    assert new.dead
    exit = GreenletExit("mine")
    assert greenlet(lambda: module._core._raise(exit)).switch() is exit


def test_throw() -> None:
    """A class, a class and a value, an instance, with a traceback; other values are refused."""
    caught: list[BaseException] = []

    def catch() -> None:
        while True:
            try:
                to_parent()
            except Exception as exception:
                caught.append(exception)

    child = greenlet(catch)
    child.switch()
    child.throw(KeyError)
    child.throw(KeyError, 1)
    child.throw(KeyError("a"))
    child.throw(OSError, (2, "text"))
    assert [repr(each) for each in caught[:3]] == ["KeyError()", "KeyError(1)", "KeyError('a')"]
    assert caught[3].args == (2, "text")
    for wrong in [(1,), (KeyError("a"), 1), (KeyError, None, 1)]:
        with pytest.raises(TypeError):
            child.throw(*wrong)


def test_parents() -> None:
    """A parent can be changed, not into a circle; a main greenlet has none."""
    main = getcurrent()
    assert main.parent is None
    first = greenlet(lambda given: f"first got {given}")
    second = greenlet(lambda: "second", parent=first)
    assert first.parent is main
    assert second.parent is first
    with pytest.raises(ValueError, match="cyclic"):
        first.parent = second
    with pytest.raises(TypeError):
        first.parent = 1
    with pytest.raises(AttributeError):
        main.parent = first
    with pytest.raises(AttributeError):
        del first.parent
    assert second.switch() == "first got second"  # its result begins its parent


def test_run() -> None:
    """A function, given or a method of a subclass; it cannot change after the start."""

    class Doubles(greenlet):
        def run(self, value: int) -> int:
            assert getcurrent() is self
            return 2 * value

    assert Doubles().switch(4) == 8
    child = greenlet()
    with pytest.raises(AttributeError):
        child.switch()
    child.run = len
    del child.run
    with pytest.raises(AttributeError):
        del child.run
    child.run = to_parent
    assert child.run is to_parent
    child.switch()
    for access in (
        lambda: child.run,
        lambda: setattr(child, "run", len),
        lambda: delattr(child, "run"),
    ):
        with pytest.raises(AttributeError):
            access()


def test_gr_frame_and_repr() -> None:
    """The frame in which it will resume; what repr() says of each state."""
    child = greenlet(to_parent)
    assert child.gr_frame is None
    assert "pending" in repr(child)
    child.switch()
    assert child.gr_frame is not None
    assert child.gr_frame.f_code is to_parent.__code__
    assert "suspended active started" in repr(child)
    assert repr(getcurrent()).endswith("current active started main>")
    child.switch()
    assert child.gr_frame is None
    assert repr(child).endswith("dead>")


def test_contexts() -> None:
    """Each has its own context, empty at first; another one can be given."""
    var: contextvars.ContextVar[int] = contextvars.ContextVar("var", default=0)

    def change() -> int:
        seen = var.get()
        var.set(5)
        to_parent()
        return seen

    def use() -> None:
        var.set(1)
        alone, sharing = greenlet(change), greenlet(change)
        sharing.gr_context = getcurrent().gr_context
        alone.switch()
        assert var.get() == 1
        assert alone.gr_context[var] == 5
        sharing.switch()
        assert var.get() == 5
        assert [alone.switch(), sharing.switch()] == [0, 1]
        with pytest.raises(TypeError):
            alone.gr_context = {}

    contextvars.copy_context().run(use)


def test_the_handled_exception_is_its_own() -> None:
    """sys.exc_info() of one is not seen in another."""
    child = greenlet(lambda: to_parent(sys.exception()))
    try:
        raise KeyError
    except KeyError as own:
        assert child.switch() is None
        assert sys.exception() is own


def test_settrace() -> None:
    """Switches and throws are reported in the target; a failing callback is removed."""
    events: list[tuple[str, greenlet, greenlet]] = []
    assert module.settrace(lambda event, args: events.append((event, *args))) is None
    main, child = getcurrent(), greenlet(to_parent)
    child.switch()
    child.throw()
    tracer = module.gettrace()
    assert module.settrace(None) is tracer
    assert events == [
        ("switch", main, child),
        ("switch", child, main),
        ("throw", main, child),
        ("switch", child, main),
    ]
    module.settrace(lambda event, args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        greenlet(to_parent).switch()
    assert module.gettrace() is None


def test_generators_run_in_greenlets() -> None:
    """A generator that is advanced by a greenlet switches in the middle of a comprehension."""

    def numbers() -> object:
        for n in range(3):
            to_parent(n)
            yield n

    child = greenlet(lambda: [n for n in numbers()])
    assert [child.switch() for _ in range(4)] == [0, 1, 2, [0, 1, 2]]


def test_a_greenlet_that_is_dropped_ends() -> None:
    """By GreenletExit, at once, or when the collector finds it."""
    ended: list[str] = []

    def body(name: str) -> None:
        try:
            to_parent()
        except GreenletExit:
            ended.append(name)

    child = greenlet(body)
    child.switch("dropped")
    del child
    assert ended == ["dropped"]
    circle = greenlet(body)
    circle.itself = circle
    seen = weakref.ref(circle)
    circle.switch("in a circle")
    del circle
    gc.collect()
    assert ended == ["dropped", "in a circle"]
    assert seen() is None


def test_a_greenlet_of_another_thread_is_refused() -> None:
    """While that thread lives and when it has ended; dropping it is safe."""
    found: list[greenlet] = []
    begun, end = threading.Event(), threading.Event()

    def work() -> None:
        child = greenlet(to_parent)
        child.switch()
        found.append(child)
        begun.set()
        end.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait(60)
    with pytest.raises(error, match="different thread"):
        found[0].switch()
    end.set()
    thread.join()
    with pytest.raises(error, match="happens to have exited"):
        found[0].switch()
    assert found[0].dead
    found.clear()
    gc.collect()


def test_greenlets_cannot_be_copied() -> None:
    """A TypeError, as for other objects that hold a C stack."""
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot pickle"):
            way(greenlet(len))


def test_the_names_of_the_module() -> None:
    """All documented names, also where greenlet has them on the class."""
    for name in ("GreenletExit", "error", "getcurrent", "settrace", "gettrace"):
        assert getattr(greenlet, name) is getattr(module, name)
    assert set(module.__all__) <= set(dir(module))
    assert not issubclass(GreenletExit, Exception)
