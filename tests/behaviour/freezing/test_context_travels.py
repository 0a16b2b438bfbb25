"""Context variables that a module holds travel with a tasklet; others are listed and dropped."""

import contextvars
import decimal

import pytest
from helpers_frozen_tasklets import resumed, waiting

import loomlet
from loomlet import Channel
from loomlet.snapshot import _importable

USER = contextvars.ContextVar("USER", default="unset")
nested = {"hidden": contextvars.ContextVar("hidden", default=0)}


def body(ch):
    ch.receive()
    return USER.get(), nested["hidden"].get(), decimal.getcontext().prec


def begin(user, hidden=None):
    USER.set(user)
    if hidden is not None:
        nested["hidden"].set(hidden)
    return waiting(body, Channel())


def test_by_name():
    """The frozen tasklet's value, not that of the process."""
    task = contextvars.copy_context().run(begin, ["ann"])
    assert resumed(loomlet.thaw(loomlet.freeze(task))) == (["ann"], 0, 28)
    assert USER.get() == "unset"


def test_without_a_name():
    """Dropped, with a warning that lists them."""
    task = contextvars.copy_context().run(begin, "ann", 5)
    with pytest.warns(loomlet.FreezeWarning, match="left out: hidden"):
        data = loomlet.freeze(task)
    assert resumed(loomlet.thaw(data)) == ("ann", 0, 28)


def precise():
    decimal.setcontext(decimal.Context(prec=7))
    return waiting(body, Channel())


def test_the_context_of_decimal():
    """No module holds it, but loomlet knows it."""
    task = contextvars.copy_context().run(precise)
    before = decimal.getcontext().prec
    assert resumed(loomlet.thaw(loomlet.freeze(task)))[2] == 7
    assert decimal.getcontext().prec == before


@pytest.mark.parametrize("precision", [28, 9])
def test_the_context_of_decimal_is_not_looked_for(monkeypatch, precision):
    """It is in the context of any tasklet that has calculated once, and in no module."""

    def calculating():
        decimal.setcontext(decimal.Context(prec=precision))
        return waiting(body, Channel())

    asked = []
    task = contextvars.copy_context().run(calculating)
    remember = lambda variable: asked.append(variable.name)  # noqa: E731
    monkeypatch.setattr(_importable, "context_variable", remember)
    assert resumed(loomlet.thaw(loomlet.freeze(task)))[2] == precision
    assert "decimal_context" not in asked


def test_a_value_that_cannot_be_saved():
    """The error names the variable."""
    task = contextvars.copy_context().run(begin, memoryview(b""))
    why = loomlet.why_not_freezable(task)
    assert "the context variable 'USER' of type memoryview cannot be saved" in why
