"""An error names function, line, variable and type; nothing is saved half."""

import functools

import pytest
from helpers_frozen_tasklets import resumed, waiting

import loomlet
from loomlet import Channel, FreezeError


def holds(ch, thing):
    kept = thing  # the variable in the message
    got = ch.receive()
    return kept, got


def below(ch, thing):
    return [holds(ch, thing), "end"]


def in_a_cell(ch, thing):
    def look():
        return thing, ch.receive()

    return look()


def in_an_expression(ch, make):
    return [make(), ch.receive()]


VIEW = "cannot pickle memoryview objects"


def view():
    return memoryview(b"bytes")


def reason(task):
    """Both ways of asking, which must agree."""
    why = loomlet.why_not_freezable(task)
    with pytest.raises(FreezeError) as caught:
        loomlet.freeze(task)
    assert str(caught.value) == why
    assert isinstance(caught.value, TypeError)
    return why


def test_a_local_variable():
    """Function, file and line, variable, type, and what pickle says."""
    task = waiting(below, Channel(), view())
    line = holds.__code__.co_firstlineno + 2
    assert f"holds ({__file__}:{line}): local variable 'thing' of type memoryview" in reason(task)
    assert VIEW in reason(task)
    assert task.state == "blocked"
    assert resumed(task, 1)[1] == "end"


def test_deep_inside_a_variable():
    """The variable that leads there."""
    task = waiting(holds, Channel(), [{"key": (view(),)}])
    assert "local variable 'thing' of type list cannot be saved" in reason(task)
    assert VIEW in reason(task)


def test_in_a_cell():
    """A variable of a closure."""
    assert "local variable 'thing' of type memoryview" in reason(
        waiting(in_a_cell, Channel(), view())
    )


def test_in_an_expression():
    """A value that has no name."""
    task = waiting(in_an_expression, Channel(), view)
    assert "in_an_expression" in reason(task)
    assert "a value in an expression of type list" in reason(task) or "memoryview" in reason(task)


def test_arguments_of_a_tasklet_that_has_not_started():
    """The message speaks of its arguments."""
    task = loomlet.spawn(holds, Channel(), view())
    assert "the arguments of <function holds" in reason(task)


@pytest.mark.parametrize(
    "make",
    [
        lambda: open(__file__),
        lambda: memoryview(b"bytes"),
        lambda: (n for n in [view()]),
        lambda: __import__("sys")._getframe(),
        lambda: __import__("socket").socket(),
        lambda: __import__("re").finditer("a", "aa"),
    ],
    ids=["file", "memoryview", "generator", "frame", "socket", "finditer"],
)
def test_things(make):
    """Nothing is saved as something else."""
    thing = make()
    assert f"local variable 'thing' of type {named(thing)} cannot be saved" in reason(
        waiting(holds, Channel(), thing)
    )
    if hasattr(thing, "close"):
        thing.close()


def named(thing):
    kind = type(thing)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return module + kind.__qualname__


def key(ch, item):
    return ch.receive() * item


def sorts(ch):
    return sorted([1, 2], key=functools.partial(key, ch))


def test_c_code_in_between():
    """The function, the line and the callable."""
    ch = Channel()
    task = waiting(sorts, ch)
    assert "sorts" in reason(task)
    assert "waits for C: <built-in function sorted>" in reason(task)
    ch.send(1)
    loomlet.schedule()
    ch.send(-1)
    assert task.result() == [2, 1]


def test_the_running_tasklet_and_others():
    """Main, the one that runs, one that has ended."""
    assert "main" in reason(loomlet.current())
    done = loomlet.spawn(int)
    loomlet.schedule()
    assert "it has ended" in reason(done)
    asked = []
    loomlet.spawn(lambda: asked.append(reason(loomlet.current())))
    loomlet.schedule()
    assert "it is running" in asked[0]


def test_what_can_be_frozen():
    """None, and nothing happens to it."""
    task = waiting(holds, Channel(), [1])
    assert loomlet.why_not_freezable(task) is None
    assert resumed(task, 2) == ([1], 2)


def test_wrong_arguments():
    """Anything but tasklets."""
    for call in (loomlet.freeze, loomlet.why_not_freezable, loomlet.clone):
        with pytest.raises(TypeError, match="expected a tasklet"):
            call(5)
    with pytest.raises(TypeError, match="expected a tasklet or several"):
        loomlet.freeze([5])


class Bad:
    """Fails when it is pickled."""

    def __reduce__(self):
        raise RuntimeError("does not want to")


def test_an_error_of_the_users_code():
    """It becomes the cause, and the message names the variable."""
    task = waiting(holds, Channel(), Bad())
    with pytest.raises(FreezeError, match=r"'thing' of type .*\.Bad .*does not want to") as caught:
        loomlet.freeze(task)
    assert isinstance(caught.value.__cause__, RuntimeError)
    task.kill()


def test_nesting_that_is_too_deep():
    """An error, not a crash."""
    deep = []
    for _ in range(100_000):
        deep = [deep]
    task = waiting(holds, Channel(), deep)
    assert "nested too deeply" in reason(task)
    task.kill()


def test_a_hard_wait_in_a_function_that_has_waited_softly():
    """Only the innermost function's wait counts, not those of the frames below it."""

    def inner(ch):
        first = ch.receive()
        return first, loomlet.select([ch], **{"timeout": None})

    def outer(ch):
        return ["outer", inner(ch)]

    ch = Channel()
    task = waiting(outer, ch)
    assert loomlet.why_not_freezable(task) is None
    ch.send(1)
    loomlet.schedule()
    assert "inner (" in reason(task) and "select" in reason(task)
    ch.send(2)
    assert task.result() == ["outer", (1, (0, 2))]


def sends_one(ch, make):
    ch.send(make())


def test_the_value_that_it_offers():
    """It is in no variable, so it is named by its type."""
    task = waiting(sends_one, Channel(), view)
    with pytest.raises(FreezeError, match=r"its value, a memoryview, cannot be saved"):
        loomlet.freeze(task)
    task.kill()
