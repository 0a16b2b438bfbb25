"""run_blocking: what a function returns or raises comes out of it, and others run meanwhile."""

import contextvars
import functools
import threading
import traceback

import pytest

import loomlet
from loomlet import run_blocking

VARIABLE = contextvars.ContextVar("VARIABLE", default="default")


def report_call(*args, **kwargs):
    """Where it runs, and with what."""
    return threading.get_ident(), args, kwargs


def test_arguments_go_in_and_the_result_comes_out(mode):
    """Of every kind, in a tasklet and in the main one."""

    def body():
        more = {"c": 4}
        return run_blocking(report_call, 1, *(2, 3), b=5, **more)

    for ident, args, kwargs in (body(), loomlet.spawn(body).result()):
        assert ident != threading.get_ident()
        assert (args, kwargs) == ((1, 2, 3), {"b": 5, "c": 4})
    assert run_blocking(report_call)[1:] == ((), {})


@pytest.mark.parametrize(
    "function, args, result",
    [
        (divmod, (7, 2), (3, 1)),
        ("text".upper, (), "TEXT"),
        (functools.partial(int, base=2), ("101",), 5),
        (dict, ((("a", 1),),), {"a": 1}),
        (type("Called", (), {"__call__": lambda self, x: x})(), (3,), 3),
    ],
)
def test_any_callable_is_called(function, args, result):
    """Built-in functions, bound methods, partials, types, objects."""
    assert run_blocking(function, *args) == result


def test_an_exception_comes_out_with_its_traceback(mode):
    """It shows both sides, and no function of loomlet between them."""

    def fails():
        raise LookupError("of the function")

    def body():
        run_blocking(fails)

    with pytest.raises(LookupError, match="of the function") as caught:
        loomlet.spawn(body).result()
    names = [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert names[-2:] == ["body", "fails"]
    assert caught.value.__context__ is None


def test_exits_come_out_too():
    """SystemExit and the like end no thread."""
    for kind in (SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration):

        def fails(kind=kind):
            raise kind("x")

        with pytest.raises(kind):
            run_blocking(fails)


@pytest.mark.parametrize("args", [(), (5,), (None, 1)])
def test_what_cannot_be_called_is_refused(args):
    """At once, in the caller."""
    with pytest.raises(
        TypeError, match=r"run_blocking\(func, \*args, \*\*kwargs\) expected a call"
    ):
        run_blocking(*args)


def test_others_run_meanwhile(mode, gate, begun):
    """One call of a function does not hold up the thread."""
    task = begun("result")
    turns = 0
    while turns < 10:
        loomlet.schedule()
        turns += 1
    assert task.state == "blocked"
    gate.open()
    assert task.result() == "result"


CALLS = {
    "run_blocking(f)": lambda f: run_blocking(f),
    "run_blocking(f, 1)": lambda f: run_blocking(f, 1),
    "run_blocking(f, 1, b=2)": lambda f: run_blocking(f, 1, b=2),
    "run_blocking(f, *args)": lambda f: run_blocking(f, *(1, 2)),
}


@pytest.mark.parametrize("call", CALLS)
def test_waiting_is_soft(switches, gate, call):
    """The tasklet keeps no C stack, however the function is called."""
    task = loomlet.spawn(CALLS[call], lambda *args, **kwargs: gate.wait((args, kwargs)))
    loomlet.schedule()
    assert switches.take() == (1, 0)
    gate.open()
    assert isinstance(task.result(), tuple)


def test_inside_a_call_of_c_it_waits_too(mode):
    """Below sorted() the tasklet keeps its C stack."""
    task = loomlet.spawn(lambda: sorted([3, 1], key=lambda n: run_blocking(abs, -n)))
    assert task.result() == [1, 3]


def test_the_context_is_a_copy_of_the_callers(mode):
    """The function sees the caller's variables; what it sets stays there."""

    def use():
        seen = VARIABLE.get()
        VARIABLE.set("of the function")
        return seen

    def body(value):
        if value is not None:
            VARIABLE.set(value)
        return run_blocking(use), VARIABLE.get()

    outcomes = [loomlet.spawn(body, value) for value in ("one", None, "two", None)]
    assert [task.result() for task in outcomes] == [
        ("one", "one"),
        ("default", "default"),
        ("two", "two"),
        ("default", "default"),
    ]


def test_the_context_may_be_empty():
    """The thread's own is never used: nothing of one function is seen by the next."""

    def use(value):
        seen = VARIABLE.get()
        VARIABLE.set(value)
        return seen

    run = contextvars.Context().run
    assert [run(run_blocking, use, n) for n in range(3)] == ["default"] * 3


def test_waiting_for_names_the_function(mode, begun, gate):
    """The text names the function and the operation."""
    task = begun()
    assert (task.waiting_in, task.waiting_for) == ("run_blocking", gate.wait)
    assert f"run_blocking {gate.wait!r}" in loomlet._waits.describe(task)
    gate.open()
    task.result()
    assert (task.waiting_in, task.waiting_for) == (None, None)


def test_it_cannot_be_frozen_there(switches, begun, gate):
    """The function runs in this process only; the text names it."""
    task = begun()
    with pytest.raises(
        loomlet.FreezeError, match=r"it waits for a function, <bound method Gate\.wait"
    ):
        loomlet.freeze(task)
    gate.open()
    task.result()


def test_a_cancelled_scope_calls_nothing():
    """Cancelled comes before the function."""
    called = []
    with loomlet.CancelScope() as scope:
        scope.cancel()
        run_blocking(called.append, 1)
    assert scope.cancelled_caught
    assert called == []


def test_outside_of_run(python):
    """The main tasklet of a thread waits like any other."""
    done = python(
        """
        import loomlet
        print(loomlet.run_blocking(pow, 2, 10))
        """
    )
    assert (done.stdout, done.stderr, done.returncode) == ("1024\n", "", 0)


def test_stackless_tasklets_wait_too(python):
    """run() returns while all wait, as it does for channels; the outcome is taken next time."""
    done = python(
        """
        import loomlet
        from loomlet.compat import stackless

        got, go = [], loomlet.Channel()
        stackless.tasklet(lambda: got.append(loomlet.run_blocking(go.receive)))()
        stackless.run()
        print(got)
        go.send("data")
        while not got:
            loomlet.sleep(0.001)    # for the function to return
        print(got)
        """
    )
    assert (done.stdout, done.stderr) == ("[]\n['data']\n", "")
