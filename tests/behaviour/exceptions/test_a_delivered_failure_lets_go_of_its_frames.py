"""A kept tasklet that has failed costs its exception and the text of its traceback.

The variables of its frames are there for the receiver, and for anybody who still refers to the
exception, its traceback or a frame.  Then they are dropped; what is printed stays the same.
"""

import gc
import io
import pdb
import sys
import traceback
import weakref

import pytest

import loomlet
from loomlet import TaskGroup, spawn


class Big:
    """Can be seen dying."""


seen: list = []


@pytest.fixture(autouse=True)
def no_collector():
    """Nothing here needs the collector."""
    seen.clear()
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    seen.clear()


def watched():
    big = Big()
    seen.append(weakref.ref(big))
    return big


def alive():
    """How many of the watched objects live, once the thread has switched."""
    loomlet.schedule()
    return sum(one() is not None for one in seen)


def fail():
    local = watched()
    raise ValueError(f"found {type(local).__name__}")


def deliver(task):
    """Handles the failure; returns its text."""
    try:
        task.result()
    except BaseException:
        return traceback.format_exc()


def test_after_the_handler(mode):
    """The receiver sees the variables; afterwards they go, and the text stays."""
    task = spawn(fail)
    try:
        task.result()
    except ValueError as error:
        assert isinstance(error.__traceback__.tb_next.tb_frame.f_locals["local"], Big)
        assert alive() == 1
        first = traceback.format_exc()
    assert alive() == 0
    second = deliver(task)
    assert 'raise ValueError(f"found {type(local).__name__}")' in second
    assert second.splitlines()[-4:] == first.splitlines()[-4:]


def test_of_many_in_a_row(mode):
    """Each delivery lets go of those before it, in a program that never switches too."""
    tasks = []
    for _ in range(100):
        tasks.append(spawn(fail))
        deliver(tasks[-1])
    assert sum(one() is not None for one in seen) < 5
    assert alive() == 0


def test_with_a_collection(mode):
    """gc.collect() lets go of all at once."""
    task = spawn(fail)
    deliver(task)
    gc.collect()
    assert seen[0]() is None


def test_at_the_end_of_a_run():
    """Nothing of a run has to wait for a later one."""
    kept = []

    def main():
        kept.append(spawn(fail))
        deliver(kept[0])

    loomlet.run(main)
    assert seen[0]() is None


def test_what_a_function_encloses(mode):
    """A nested function's frame refers to the variables around it."""

    def outer():
        big = watched()

        def inner():
            raise ValueError(big)

        return inner

    task = spawn(outer())
    try:
        task.result()
    except ValueError as error:
        error.args = ()
    assert alive() == 0


def test_what_it_comes_from(mode):
    """The cause, the context and members of groups go the same way."""

    def chain():
        local = watched()
        try:
            fail()
        except ValueError as error:
            kept = error
        try:
            fail()
        except ValueError as error:
            raise KeyError(id(local), id(kept)) from error

    def group():
        with TaskGroup() as inner:
            inner.spawn(fail)
            inner.spawn(chain)

    for function in chain, group:
        seen.clear()
        task = spawn(function)
        assert "ValueError: found Big" in deliver(task)
        assert alive() == 0
        assert "ValueError: found Big" in deliver(task)


def test_a_killed_tasklet():
    """An exit is no failure: a tasklet that was killed and is kept has no variables."""
    tasks = []

    def handle():
        try:
            fail()
        except ValueError:
            loomlet.Channel().receive()

    for _ in range(3):
        tasks.append(spawn(handle))
        loomlet.schedule()
        tasks[-1].kill()
    assert alive() == 0
    with pytest.raises(loomlet.TaskletKilled) as caught:
        tasks[0].join()
    assert traceback.extract_tb(caught.value.__cause__.__traceback__)[-1].name == "handle"


@pytest.mark.parametrize(
    "part",
    [
        lambda error: error,
        lambda error: sys.exc_info(),
        lambda error: error.__traceback__,
        lambda error: error.__traceback__.tb_next,
        lambda error: error.__traceback__.tb_next.tb_frame,
    ],
    ids=["the exception", "exc_info", "the traceback", "an entry", "a frame"],
)
def test_what_somebody_keeps(mode, part):
    """A debugger or a log record that keeps a part of it sees the variables; until it lets go."""
    task = spawn(fail)

    def receive():
        try:
            task.result()
        except ValueError as error:
            return part(error)

    kept = [receive()]
    assert alive() == 1
    deliver(task)
    assert alive() == 1
    kept.clear()
    assert alive() == 0


def test_a_context_that_somebody_keeps(mode):
    """The frames that an exception shares with another one that is kept stay whole."""
    kept = []

    def chain():
        local = watched()
        try:
            fail()
        except ValueError as error:
            kept.append(error)
            raise KeyError(id(local)) from error

    task = spawn(chain)
    deliver(task)
    assert alive() == 2
    kept.clear()
    assert alive() == 0


def test_a_failure_that_was_only_reported(mode, failures):
    """Nobody has received it: result() still shows the variables."""
    task = spawn(fail)
    loomlet.schedule()
    assert len(failures) == 1
    failures.clear()
    assert alive() == 1
    deliver(task)
    assert alive() == 0


def test_a_call_that_still_runs(mode, failures):
    """An exception thrown into a tasklet has frames of the thrower; they keep their variables while
    the thrower runs, and let go of them afterwards."""

    def sleep():
        loomlet.Channel().receive()

    task = spawn(sleep)
    loomlet.schedule()

    def thrower():
        local = watched()
        try:
            raise ValueError(id(local))
        except ValueError as error:
            task.throw(error)
            failures.clear()
            thrown = deliver(task)
            loomlet.schedule()
            assert isinstance(local, Big)
            return thrown

    assert "in sleep" in thrower()
    assert alive() == 0


def test_a_suspended_generator_is_not_closed(mode):
    """Its frame may be in a traceback that is raised elsewhere."""

    def generator():
        try:
            raise ValueError("caught")
        except ValueError as error:
            yield error
        yield 2

    running = generator()
    error = next(running)

    def raiser(found):
        raise found[0]

    found = [error]
    del error
    task = spawn(raiser, found)
    deliver(task)
    found.clear()
    assert alive() == 0
    assert next(running) == 2


def test_a_debugger_after_the_handler(mode):
    """pdb.post_mortem() keeps the traceback, and so the variables, for as long as it looks."""
    task = spawn(fail)

    def receive():
        try:
            task.result()
        except ValueError as error:
            return error.__traceback__

    out = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO("p type(local).__name__\nup\nwhere\nquit\n"), stdout=out)
    debugger.use_rawinput = False
    debugger.reset()
    debugger.interaction(None, receive())
    assert "'Big'" in out.getvalue()
    assert "receive()" in out.getvalue()
    debugger.reset()
    debugger.forget()
    del debugger
    gc.collect()
    assert alive() == 0


def test_beside_many_that_are_kept(mode):
    """Exceptions that a program keeps do not delay the others."""
    errors = []

    def receive(task):
        try:
            task.result()
        except ValueError as error:
            errors.append(error)

    kept = []
    for _ in range(500):
        kept.append(spawn(fail))
        receive(kept[-1])
    for _ in range(1000):
        loomlet.schedule()
    seen.clear()
    task = spawn(fail)
    deliver(task)
    assert alive() == 0
    errors.clear()
    gc.collect()
    assert kept[0]._failure.__traceback__.tb_frame.f_locals == {}
