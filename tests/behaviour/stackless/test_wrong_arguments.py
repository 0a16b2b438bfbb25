"""Wrong arguments are errors that name the function and how many arguments it takes."""

import inspect

import pytest

import loomlet.compat.stackless as stackless

MODULE = "loomlet.compat.stackless."
NONE, ONE = "takes no arguments (1 given)", "takes exactly one argument (2 given)"
ONE0 = "takes exactly one argument (0 given)"
FUNCTIONS = [
    *[
        (name, (1,), f"{MODULE}{name}() {NONE}")
        for name in (
            "getcurrent getcurrentid getdebug getmain getruncount getthreads getuncollectables "
            "get_channel_callback get_schedule_callback"
        ).split()
    ],
    *[
        (name, (1, 2), f"{MODULE}{name}() {ONE}")
        for name in (
            "enable_softswitch set_channel_callback set_schedule_callback test_cframe_nr _gc_track"
        ).split()
    ],
    ("schedule", (1, 2), "schedule() takes at most 1 argument (2 given)"),
    ("schedule_remove", (1, 2), "schedule_remove() takes at most 1 argument (2 given)"),
    ("run", (1, 2, 3, 4, 5, 6), "run() takes at most 5 arguments (6 given)"),
    ("set_error_handler", (1, 2), "set_error_handler() takes at most 1 argument (2 given)"),
    ("switch_trap", (1, 2), "switch_trap() takes at most 1 argument (2 given)"),
    ("get_thread_info", (1, 2, 3), "get_thread_info() takes at most 2 arguments (3 given)"),
    ("pickle_flags", (1, 2, 3), "pickle_flags() takes at most 2 arguments (3 given)"),
    ("test_outside", (1,), f"test_outside() {NONE}"),
]
METHODS = [
    *[(stackless.tasklet, name, (1,), f"tasklet.{name}() {NONE}") for name in ("insert", "remove")],
    (stackless.tasklet, "run", (1,), f"run() {NONE}"),
    (stackless.tasklet, "switch", (1,), f"switch() {NONE}"),
    (stackless.tasklet, "bind", (1, 2, 3, 4), "tasklet() takes at most 3 arguments (4 given)"),
    (stackless.tasklet, "kill", (1, 2), "kill() takes at most 1 argument (2 given)"),
    (stackless.tasklet, "bind_thread", (1, 2), "bind_thread() takes at most 1 argument (2 given)"),
    (stackless.tasklet, "set_atomic", (), f"tasklet.set_atomic() {ONE0}"),
    (stackless.tasklet, "set_ignore_nesting", (), f"tasklet.set_ignore_nesting() {ONE0}"),
    (stackless.tasklet, "throw", (), "throw() missing required argument 'exc' (pos 1)"),
    (stackless.tasklet, "raise_exception", (), "raise_exception() takes at least 1 argument"),
    (stackless.channel, "send", (), f"send() {ONE0}"),
    (stackless.channel, "receive", (1,), f"receive() {NONE}"),
    (stackless.channel, "close", (1,), f"channel.close() {NONE}"),
    (stackless.channel, "open", (1,), f"channel.open() {NONE}"),
    (stackless.channel, "send_exception", (), "send_exception() takes at least 1 argument"),
    (stackless.channel, "send_throw", (), "send_throw expected at least 1 argument, got 0"),
    (
        stackless.channel,
        "send_sequence",
        (),
        "channel.send_sequence() missing 1 required positional argument: 'sequence'",
    ),
]


@pytest.mark.parametrize(("name", "given", "text"), FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_of_functions(name, given, text, raises):
    """Spec 2, wrong arguments: too many."""
    with raises(TypeError, text):
        getattr(stackless, name)(*given)


@pytest.mark.parametrize(("cls", "name", "given", "text"), METHODS, ids=[m[1] for m in METHODS])
def test_of_methods(cls, name, given, text, raises):
    """Spec 2, wrong arguments: too many or too few."""
    with raises(TypeError, text):
        getattr(cls(), name)(*given)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: stackless.schedule(value=1), "unexpected keyword argument 'value'"),
        (lambda: stackless.run(1, timeout=1), "multiple values for argument 'timeout'"),
        (lambda: stackless.tasklet(no=1), "unexpected keyword argument 'no'"),
        (lambda: stackless.tasklet().throw(val=1), "missing required argument 'exc' (pos 1)"),
    ],
)
def test_keywords(call, text):
    """Spec 2, wrong arguments: names that are unknown, given twice, or missing."""
    with pytest.raises(TypeError) as caught:
        call()
    said = str(caught.value).replace("is an invalid keyword argument for tasklet()", "")
    assert text in said or "'no'" in said


@pytest.mark.parametrize(
    "name", [n for n in stackless.__all__ if inspect.isbuiltin(getattr(stackless, n))]
)
def test_functions_have_their_names(name):
    """Spec 2, wrong arguments: what names a function in errors is what `help` shows of it."""
    function = getattr(stackless, name)
    assert (function.__name__, function.__module__) == (name, MODULE.rstrip("."))
