"""Exceptions with everything attached to them, and tracebacks that print as before."""

import traceback

import pytest
from helpers_frozen_tasklets import resumed, waiting

import loomlet
from loomlet import Channel, _core


class Odd(Exception):
    """Its arguments are not those of its __init__."""

    def __init__(self, number, *, why):
        super().__init__(f"{number}: {why}")
        self.number, self.why = number, why


def raised(error, cause=None):
    try:
        raise error from cause
    except BaseException as caught:
        return caught


ERRORS = [
    ValueError("text", 5),
    KeyError("key"),
    StopIteration("value"),
    SystemExit(3),
    FileNotFoundError(2, "No such file", "name"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    SyntaxError("wrong", ("file", 1, 2, "text", 1, 3)),
    ImportError("no", name="module", path="place"),
    Odd(4, why="because"),
    ExceptionGroup("both", [ValueError(1), TypeError(2)]),
    loomlet.ChannelClosed("closed"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("is_raised", [False, True], ids=["bare", "raised"])
def test_type_arguments_and_attributes_of_an_exception(copied, error, is_raised):
    """Type, arguments, attributes and text; with a traceback as without one."""
    if is_raised:
        error = raised(error)
    copy = copied(error)
    assert type(copy) is type(error)
    assert repr(copy.args) == repr(error.args)
    assert (str(copy), repr(copy.__dict__)) == (str(error), repr(error.__dict__))
    for name in ("errno", "filename", "value", "code", "start", "lineno", "name", "path"):
        assert getattr(copy, name, None) == getattr(error, name, None)


def test_traceback_cause_context_and_notes(copied):
    """Cause, context, notes, suppression."""
    cause = raised(KeyError("cause"))
    error = raised(ValueError("outer"), cause)
    error.add_note("a note")
    copy = copied(error)
    assert repr(copy.__cause__) == repr(cause)
    assert copy.__suppress_context__
    assert copy.__notes__ == ["a note"]
    assert copy.__cause__.__traceback__ is not None


def test_circles(copied):
    """An exception that holds itself."""
    error = ValueError("ring")
    error.me = [error]
    error.__context__ = KeyError("other")
    error.__context__.__context__ = None
    copy = copied(error)
    assert copy.me[0] is copy


def fails(n):
    if n:
        return fails(n - 1)
    return {}["a key"]  # on several lines


def formatted(error):
    return "".join(traceback.format_exception(error))


def test_tracebacks(copied):
    """Files, lines, names and the marks under the columns."""
    try:
        fails(3)
    except KeyError as error:
        before = formatted(error)
        copy = copied(error)
    assert formatted(copy) == before
    assert copy.__traceback__.tb_frame.f_code.co_qualname == "test_tracebacks"
    assert copy.__traceback__.tb_frame.f_globals is globals()


def test_generated_code(copied):
    """Code of no file and no module."""
    space = {"__name__": "nowhere"}
    exec(compile("def f():\n    1 / 0", "<made>", "exec"), space)
    try:
        space["f"]()
    except ZeroDivisionError as error:
        before = formatted(error)
        copy = copied(error)
    assert formatted(copy) == before


def handles(ch):
    try:
        fails(1)
    except KeyError:
        first = ch.receive()
        before = traceback.format_exc()
        try:
            ch.receive()
            raise
        except KeyError as error:
            return first, before, formatted(error)


def test_the_handled_exception():
    """A tasklet frozen inside `except` raises it again with the whole story."""
    ch = Channel()
    task = waiting(handles, ch)
    data = loomlet.freeze(task)
    ch.send(1)
    loomlet.schedule()
    expected = resumed(task)
    task = loomlet.thaw(data)
    task.waiting_for.send(1)
    loomlet.schedule()
    assert resumed(loomlet.thaw(loomlet.freeze(task))) == expected


def fail(ch):
    ch.receive()
    raise ValueError("found")


def join_one(ch):
    try:
        loomlet.spawn(fail, ch).result()
    except ValueError as error:
        return str(error)


@pytest.mark.skipif(not _core.SOFT_SUPPORTED, reason="nothing that has begun is frozen here")
def test_a_join_that_is_about_to_raise():
    """The failure is saved without the tasklet that it comes from, which has ended."""
    ch = loomlet.Channel()
    task = loomlet.spawn(join_one, ch)
    loomlet.schedule()
    loomlet.schedule()
    ch.send(None)
    saver = loomlet.spawn(lambda: task.state + loomlet.freeze(task).hex())
    saved = saver.result()
    assert saved.startswith("runnable")
    again = loomlet.thaw(bytes.fromhex(saved.removeprefix("runnable")))
    again.insert()
    assert (task.result(), again.result()) == ("found", "found")
