"""Branches, exceptions and `with`.

See helpers_chains.py; each function whose first parameter is `ch` is a chain, but for the helpers.
"""

from __future__ import annotations

import contextlib
import traceback


def while_else(ch):
    n = 0
    while n < 3:
        n += ch.receive()
    else:
        n = -n
    return n, ch.receive()


def matching(ch):
    def kind(value):
        match value:
            case [x, {"key": y}] if x + ch.receive() > 1:
                return "pair", x, y
            case {"only": z}:
                return "only", z, ch.receive()
            case int() | str():
                return "plain", ch.receive()

    return [kind(value) for value in ([1, {"key": 2}], {"only": 5}, "text")]


def try_except(ch):
    log = []
    try:
        log.append(ch.receive())
        raise KeyError("inner")
    except KeyError as error:
        log += [ch.receive(), error.args]
    return log


def try_finally(ch):
    log = []
    try:
        log.append(ch.receive())
    finally:
        log.append(ch.receive())
    return log


def finally_with_an_exception_in_flight(ch):
    log = []
    try:
        try:
            raise ValueError("flying")
        finally:
            log.append(ch.receive())
    except ValueError as error:
        log.append((str(error), ch.receive()))
    return log


def nested_handlers(ch):
    log = []
    try:
        try:
            raise KeyError("first")
        except KeyError:
            log.append(ch.receive())
            raise IndexError("second") from None
    except IndexError as error:
        log += [repr(error.__context__), error.__cause__, ch.receive()]
    return log


def bare_raise(ch):
    try:
        try:
            raise LookupError(ch.receive())
        except LookupError:
            ch.receive()
            raise
    except LookupError as error:
        return error.args, ch.receive()


def raise_from(ch):
    try:
        try:
            int("no number")
        except ValueError as error:
            ch.receive()
            raise TypeError("outer") from error
    except TypeError as outer:
        ch.receive()
        return repr(outer), repr(outer.__cause__), outer.__context__ is outer.__cause__


def lines_of(error):
    """What a traceback says, without file names and markers of columns."""
    rows = traceback.extract_tb(error.__traceback__)
    return [(row.name, row.line, row.lineno) for row in rows]


def exception_after_resume(ch):
    def inner():
        ch.receive()
        raise RuntimeError("from below")

    def middle():
        return inner()

    try:
        middle()
    except RuntimeError as error:
        return lines_of(error)


def traceback_in_flight(ch):
    def fails():
        return 1 / 0

    try:
        fails()
    except ZeroDivisionError as error:
        ch.receive()
        before = lines_of(error)
        try:
            ch.receive()
            raise
        except ZeroDivisionError as again:
            return before, lines_of(again), again is error


def notes_and_groups(ch):
    try:
        error = ValueError("one")
        error.add_note("a note")
        raise ExceptionGroup("both", [error, KeyError("two")])
    except* KeyError as keys:
        first = ch.receive(), [repr(e) for e in keys.exceptions]
    except* ValueError as values:
        second = ch.receive(), values.exceptions[0].__notes__
    return first, second


def return_in_finally(ch):
    def left():
        for _ in range(3):
            try:
                return ch.receive()
            finally:
                ch.receive()

    return left(), ch.receive()


def continue_through_finally(ch):
    log = []
    for n in range(3):
        try:
            if n == 1:
                continue
            log.append(ch.receive())
        finally:
            log.append((n, ch.receive()))
    return log


class Manager:
    """Keeps a log of its use."""

    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(kind and kind.__name__)
        return True


def with_block(ch):
    log = []
    with Manager(log) as one, Manager(log):
        log.append(ch.receive())
        one.log.append(ch.receive())
    return log


def with_block_that_swallows(ch):
    log = []
    with Manager(log):
        log.append(ch.receive())
        raise OSError("gone")
    return log, ch.receive()


@contextlib.contextmanager
def managed(log, name):
    log.append(f"enter {name}")
    try:
        yield name
    finally:
        log.append(f"leave {name}")


def generator_based_with(ch):
    log = []
    with managed(log, "a") as a:
        log.append((a, ch.receive()))
        with managed(log, "b"):
            log.append(ch.receive())
    return log


def exit_stack(ch):
    log = []
    with contextlib.ExitStack() as stack:
        for n in range(2):
            stack.enter_context(Manager(log))
            stack.callback(log.append, n)
            log.append(ch.receive())
    return log
