"""Every error of loomlet names the object, what is wrong with it, and what to do."""

from types import SimpleNamespace

import pytest

from loomlet import (
    Cancelled,
    ChannelClosed,
    Deadlock,
    DeadTasklet,
    LoomletError,
    SwitchTrapped,
    TaskletError,
    TaskletExit,
    WrongThread,
    _core,
    errors,
    sync,
    timeout,
)


def test_the_hierarchy_of_exceptions():
    """Errors have one parent each and are what a careful program would catch."""
    assert issubclass(ChannelClosed, (LoomletError, ValueError))
    assert issubclass(Deadlock, RuntimeError)
    assert issubclass(Deadlock, LoomletError)
    for state_error in (DeadTasklet, WrongThread, SwitchTrapped):
        assert issubclass(state_error, TaskletError)
    assert issubclass(TaskletError, RuntimeError)


@pytest.mark.parametrize("ending", [TaskletExit, Cancelled])
def test_endings_do_not_derive_from_exception(ending):
    """`except Exception` does not catch the exceptions that end a tasklet."""
    assert issubclass(ending, BaseException)
    assert not issubclass(ending, Exception)


# SET and MEMORY never come to Python; those of Stackless are raised in its own words.
WITHOUT_MAKER = {
    "SET", "MEMORY", "SYSTEM", "LAST", "NO_SENDER", "NO_RECEIVER", "BLOCK_TRAP", "RECURSIVE",
    "UNBOUND", "ALIVE",
}  # fmt: skip


def test_codes_are_written_once():
    """The list of the core and the makers of exceptions name the same codes."""
    assert errors._makers.keys() == _core.ERROR_CODES.keys() - WITHOUT_MAKER


@pytest.mark.parametrize("code", sorted(errors._makers))
def test_every_code_of_the_core_has_an_exception(code):
    """An exception of loomlet or `queue`, or a builtin; state errors say what to do."""
    facts = {
        "NOT_FREEZABLE": (2, None, 0, None, -1, SimpleNamespace(name="<the thing>")),
        "SCOPE_LATE": timeout(1),
        "ENDED": (SimpleNamespace(name="<the thing>"), 4, b"ab"),
        "GREENLETS": ("<the thing>", "other"),
    }
    error = errors.make(_core.ERROR_CODES[code], facts.get(code, "<the thing>"))
    builtins = TimeoutError, RuntimeError, ValueError
    of_queues = sync.Empty, sync.Full, sync.ShutDown
    assert isinstance(error, (LoomletError, TaskletExit, Cancelled, *builtins, *of_queues))
    if isinstance(error, (TaskletError, ChannelClosed)):
        text = str(error)
        assert text.startswith("'<the thing>' ")
        assert ";" in text
