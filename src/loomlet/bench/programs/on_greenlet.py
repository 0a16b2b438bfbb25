"""Switches and memory of greenlet; it has no channels, so there is no ring."""

from __future__ import annotations

from contextvars import ContextVar, copy_context
from time import perf_counter_ns
from typing import Any

from greenlet import getcurrent, greenlet

SETTING: ContextVar[str] = ContextVar("SETTING")


def yielding(count: int, other: greenlet) -> None:
    """A greenlet that waits to be started and then does nothing but switch to the other one."""
    getcurrent().parent.switch()
    switch = other.switch
    for _ in range(count):
        switch()


def switching(count: int) -> float:
    """Nanoseconds per switch between two greenlets."""
    first, second = greenlet(yielding), greenlet(yielding)
    first.switch(count, second)
    second.switch(count, first)
    started = perf_counter_ns()
    first.switch()
    return (perf_counter_ns() - started) / (2 * count)


def taskspeed(switches: int, repeats: int, flavour: str) -> list[dict[str, float]]:
    """`repeats` times the one switch that greenlet has."""
    return [{"frame switch soft": switching(switches // 2)} for _ in range(repeats)]


def block(main: greenlet) -> None:
    """The blocked function: gives control back once and ends when it is switched to again."""
    main.switch()


def start(main: greenlet, context: bool) -> greenlet:
    """A greenlet that has run up to its blocking point."""
    waiting = greenlet(block)
    if context:
        waiting.gr_context = copy_context()
    waiting.switch(main)
    return waiting


def memory(count: int, rounds: int, context: bool, flavour: str, meter: Any) -> None:
    """Greenlets that have switched away; with `context` each has a copied Context."""
    main = getcurrent()
    SETTING.set("set before the greenlets")
    for _ in range(rounds):
        meter.begin()
        waiting = [start(main, context) for _ in range(count)]
        meter.blocked(sum(1 for each in waiting if not each.dead))
        for each in waiting:
            each.switch()
        meter.finished(sum(1 for each in waiting if each.dead))
        del waiting, each
