"""A bare generator: the cheapest suspension that the language itself has.

It is a floor, not a peer: its caller is its scheduler, and only its own frame can wait.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator
from time import perf_counter_ns
from typing import Any


def answering() -> Generator[None, None, None]:
    """Gives control back for ever."""
    while True:
        yield


def switching(count: int) -> float:
    """Nanoseconds per round trip into the generator and out again."""
    send = answering().send
    send(None)
    started = perf_counter_ns()
    for _ in range(count):
        send(None)
    return (perf_counter_ns() - started) / count


def taskspeed(switches: int, repeats: int, flavour: str) -> list[dict[str, float]]:
    """`repeats` times the round trip."""
    return [{"frame switch soft": switching(switches)} for _ in range(repeats)]


def block() -> Generator[None, None, None]:
    """The blocked function: gives control back once."""
    yield


def ended(waiting: Generator[None, None, None]) -> bool:
    """Whether it has run to its end."""
    return inspect.getgeneratorstate(waiting) == inspect.GEN_CLOSED


def start() -> Generator[None, None, None]:
    """A generator that has run up to its yield."""
    waiting = block()
    next(waiting)
    return waiting


def memory(count: int, rounds: int, context: bool, flavour: str, meter: Any) -> None:
    """Generators suspended at their yield."""
    for _ in range(rounds):
        meter.begin()
        waiting = [start() for _ in range(count)]
        meter.blocked(sum(not ended(each) for each in waiting))
        for each in waiting:
            next(each, None)
        meter.finished(sum(ended(each) for each in waiting))
        del waiting, each
