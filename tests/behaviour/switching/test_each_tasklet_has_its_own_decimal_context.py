"""decimal's precision and traps belong to a tasklet, by the rule of context variables.

A tasklet has a copy of its spawner's context.  The object in it that decimal changes in place is
shared, where the spawner had one already, as between tasks of asyncio; setcontext() and
localcontext() put another one there.
"""

import contextvars
import decimal
from decimal import Decimal

import pytest

import loomlet
from loomlet import spawn

THIRD = {3: Decimal("0.333"), 9: Decimal("0.333333333")}


def by_change(digits):
    decimal.getcontext().prec = digits


def by_another(digits):
    decimal.setcontext(decimal.Context(prec=digits))


def spawn_with_nothing(func, *args):
    """As a new OS thread begins."""
    return contextvars.Context().run(spawn, func, *args)


@pytest.mark.parametrize(
    ("begin", "choose"),
    [(spawn_with_nothing, by_change), (spawn_with_nothing, by_another), (spawn, by_another)],
)
def test_a_precision_is_not_seen_by_another(begin, choose):
    """Also after switches in between."""

    def third(digits):
        choose(digits)
        loomlet.schedule()
        return Decimal(1) / 3

    before = decimal.getcontext().prec
    tasks = {digits: begin(third, digits) for digits in THIRD}
    assert {digits: task.result() for digits, task in tasks.items()} == THIRD
    assert decimal.getcontext().prec == before


def test_a_local_context_ends_where_it_was_entered():
    """localcontext() over a switch, in several at once."""

    def third(digits):
        with decimal.localcontext() as context:
            context.prec = digits
            loomlet.schedule()
            found = Decimal(1) / 3
        loomlet.schedule()
        return found, decimal.getcontext().prec

    before = decimal.getcontext().prec
    tasks = {digits: spawn(third, digits) for digits in THIRD}
    found = {digits: task.result() for digits, task in tasks.items()}
    assert found == {digits: (value, before) for digits, value in THIRD.items()}
    assert decimal.getcontext().prec == before


def test_a_trap_is_the_tasklets_own():
    """A tasklet that has turned a trap off gets a NaN, the other one the exception."""

    def quiet():
        decimal.getcontext().traps[decimal.InvalidOperation] = False
        loomlet.schedule()
        return (Decimal(0) / 0).is_nan()

    def loud():
        loomlet.schedule()
        with pytest.raises(decimal.InvalidOperation):
            Decimal(0) / 0
        return True

    tasks = [spawn_with_nothing(loud), spawn_with_nothing(quiet)]
    assert [task.result() for task in tasks] == [True, True]
