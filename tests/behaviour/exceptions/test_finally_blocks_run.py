"""finally, with and except blocks run, and may block, whatever ends the tasklet."""

import contextlib
import warnings

import pytest

import loomlet
from loomlet import Channel


class Guard:
    """A context manager whose both ends may block."""

    def __init__(self, log, ch=None):
        self.log, self.ch = log, ch

    def __enter__(self):
        if self.ch is not None:
            self.log.append(self.ch.receive())
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(kind)
        if self.ch is not None:
            self.log.append(self.ch.receive())
        return kind is KeyError


def test_nested_finally_blocks_inside_out(mode):
    """All finally blocks of a killed tasklet run, the innermost first, through all calls."""
    log = []

    def nest(depth):
        try:
            return nest(depth - 1) if depth else loomlet.sleep(100)
        finally:
            log.append(depth)

    task = loomlet.spawn(nest, 30)
    loomlet.schedule()
    task.kill()
    assert log == list(range(31))


def test_finally_blocks_that_block(mode):
    """A finally block may wait, in each level, and the exception propagates afterwards."""
    ch, log = Channel(), []

    def nest(depth):
        try:
            return nest(depth - 1) if depth else ch.receive()
        finally:
            log.append(ch.receive())

    task = loomlet.spawn(nest, 3)
    loomlet.schedule()
    task.kill()
    for n in range(4):
        assert task.state == "blocked"
        ch.send(n)
        loomlet.schedule()
    assert log == [0, 1, 2, 3]
    with pytest.raises(loomlet.TaskletKilled):
        task.join()


def test_exit_methods_get_the_exception(mode):
    """__exit__ of a with block sees what ended the tasklet."""
    log = []

    def body():
        with Guard(log), Guard(log):
            loomlet.sleep(100)

    task = loomlet.spawn(body)
    loomlet.schedule()
    task.kill()
    assert log == [loomlet.TaskletExit] * 2


def test_context_managers_that_block(mode):
    """__enter__ and __exit__ may block, with and without an exception."""
    ch, log = Channel(), []

    def body(error):
        with Guard(log, ch):
            if error:
                raise error
            log.append("body")
        return "end"

    for error, expected in (
        (None, ["enter", "body", None, "exit"]),
        (KeyError(), ["enter", KeyError, "exit"]),
    ):
        log.clear()
        task = loomlet.spawn(body, error)
        for value in ("enter", "exit"):
            loomlet.schedule()
            ch.send(value)
        assert task.result() == "end"
        assert log == expected


def test_context_managers_of_contextlib(mode):
    """A generator based context manager may block on its way in and out."""
    ch, log = Channel(), []

    @contextlib.contextmanager
    def managed():
        log.append(ch.receive())
        try:
            yield "inside"
        finally:
            log.append(ch.receive())

    def body():
        with managed() as value:
            log.append(value)
            loomlet.schedule()

    task = loomlet.spawn(body)
    for value in ("in", "out"):
        while ch.balance == 0:
            loomlet.schedule()
        ch.send(value)
    task.join()
    assert log == ["in", "inside", "out"]


def test_killed_inside_a_finally_block(mode):
    """A second kill() ends the waiting finally block; outer ones still run."""
    ch, log = Channel(), []

    def body():
        try:
            try:
                ch.receive()
            finally:
                log.append("inner")
                ch.receive()
                log.append("not reached")
        finally:
            log.append("outer")

    task = loomlet.spawn(body)
    loomlet.schedule()
    task.kill()
    task.kill()
    assert log == ["inner", "outer"]
    assert task.state == "done"


RETURN_IN_FINALLY = """
def body():
    try:
        loomlet.sleep(100)
    finally:
        return "value"
"""


def test_return_in_finally(mode):
    """A finally block that returns makes the tasklet end with that value."""
    found = {"loomlet": loomlet}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # newer compilers warn of it
        exec(RETURN_IN_FINALLY, found)
    task = loomlet.spawn(found["body"])
    loomlet.schedule()
    task.kill()
    assert task.result() == "value"


def test_except_star(mode):
    """Exception groups thrown into a tasklet are split by except*."""

    def body(ch):
        found = []
        try:
            ch.receive()
        except* KeyError as group:
            found.append(group.exceptions)
            loomlet.schedule()
        except* ValueError as group:
            found.append(group.exceptions)
            loomlet.schedule()
        return found

    task = loomlet.spawn(body, Channel())
    loomlet.schedule()
    errors = KeyError(1), ValueError(2)
    task.throw(ExceptionGroup("both", errors))
    assert task.result() == [(errors[0],), (errors[1],)]
