"""context.run(function, ...) is soft for a Python function, and the context is left after it."""

import contextvars
import sys

import pytest

import loomlet
from loomlet import Channel

VAR = contextvars.ContextVar("var", default="outside")
# On 3.12 and 3.13 something beside the call must refer to what it is given.
TEMPORARY = sys.version_info >= (3, 14)


class Receiver:
    def receive(self, ch, *more):
        return ch.receive()


def receive(ch, *more):
    return ch.receive()


def plain(ch):
    context = contextvars.Context()
    return context.run(receive, ch)


def of_a_method(ch):
    context = contextvars.Context()
    call = Receiver().receive
    return context.run(call, ch)


def of_a_method_with_arguments(ch):
    context = contextvars.Context()
    call = Receiver().receive
    return context.run(call, ch, 1, 2, 3)


def of_a_function_with_arguments(ch):
    context = contextvars.Context()
    return context.run(receive, ch, 1, 2, 3, 4, 5, 6, 7)


def by_a_stored_method(ch):
    run = contextvars.Context().run
    return run(receive, ch)


def one_in_another(ch):
    outer, inner = contextvars.Context(), contextvars.Context()

    def nested(ch):
        return inner.run(receive, ch)

    return outer.run(nested, ch)


def of_temporaries(ch):
    return contextvars.copy_context().run(Receiver().receive, ch)


def with_keywords(ch):
    def by_name(*, ch):
        return ch.receive()

    context = contextvars.Context()
    return context.run(by_name, ch=ch)


def of_a_method_with_many_arguments(ch):
    call = Receiver().receive
    context = contextvars.Context()
    return context.run(call, ch, 1, 2, 3, 4, 5)


def of_a_builtin(ch):
    context = contextvars.Context()
    return context.run(ch.receive)


def by_the_type(ch):
    return contextvars.Context.run(contextvars.Context(), receive, ch)


SOFT = [
    plain,
    of_a_method,
    of_a_method_with_arguments,
    of_a_function_with_arguments,
    by_a_stored_method,
    one_in_another,
    *([of_temporaries] if TEMPORARY else []),
]
OTHERS = [
    with_keywords,
    of_a_method_with_many_arguments,
    of_a_builtin,
    by_the_type,
    *([] if TEMPORARY else [of_temporaries]),
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
    ends.leave_nothing(body, receive, Receiver.receive, contextvars.Context, soft=body in SOFT)


def wait_and_set(ch):
    before = VAR.get()
    VAR.set("inside")
    return before, ch.receive(), VAR.get()


def test_the_context_is_entered_and_left(mode):
    """What the function sets stays in the context, and other tasklets do not see it."""

    def body(ch, context):
        call = wait_and_set
        found = context.run(call, ch)
        return found, VAR.get(), context[VAR]

    ch, context = Channel(), contextvars.Context()
    task = loomlet.spawn(body, ch, context)
    loomlet.schedule()
    assert VAR.get() == "outside"
    with pytest.raises(RuntimeError, match="is already entered"):
        context.run(VAR.get)
    ch.send(5)
    assert task.result() == (("outside", 5, "inside"), "outside", "inside")
    assert context.run(VAR.get) == "inside"


def fails(ch):
    ch.receive()
    raise KeyError("failed")


@pytest.mark.parametrize("how", ["fails", "thrown", "killed"])
def test_an_exception_leaves_the_context(how, mode, caught):
    ch, context = Channel(), contextvars.Context()

    def body():
        call = fails
        try:
            context.run(call, ch)
        finally:
            seen.append(VAR.get())

    seen = []
    task = caught(body)
    loomlet.schedule()
    if how == "fails":
        ch.send(0)
    elif how == "thrown":
        task.throw(KeyError("thrown"))
    else:
        task.kill()
    ended = task.result()
    assert isinstance(ended, loomlet.TaskletExit if how == "killed" else KeyError)
    assert seen == ["outside"]
    assert context.run(VAR.get) == "outside"


@pytest.mark.parametrize("body", SOFT)
def test_what_waits_in_a_context_is_frozen(body, ends, switches):
    """Where freezing is supported."""
    if sys.version_info < (3, 12):
        pytest.skip("freezing needs 3.12")
    ends.freezes(body)
