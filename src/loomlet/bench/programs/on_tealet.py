"""Switches and memory of tealet (stack slicing, as greenlet does it, in C); no channels."""

from __future__ import annotations

from importlib import import_module
from time import perf_counter_ns
from typing import Any

# Imported by name: its type information leaves out what its C module defines.
library: Any = import_module("tealet")
tealet: Any = library.tealet
main: Any = library.main
STATE_EXIT: int = library.STATE_EXIT


def yielding(current: Any, work: tuple[int, Any]) -> Any:
    """A tealet that waits to be started and then does nothing but switch to the other one."""
    count, other = work
    main().switch()
    switch = other.switch
    for _ in range(count):
        switch()
    return main()


def switching(count: int) -> float:
    """Nanoseconds per switch between two tealets."""
    first, second = tealet(), tealet()
    first.run(yielding, (count, second))
    second.run(yielding, (count, first))
    started = perf_counter_ns()
    first.switch()
    elapsed = perf_counter_ns() - started
    second.switch()
    return elapsed / (2 * count)


def taskspeed(switches: int, repeats: int, flavour: str) -> list[dict[str, float]]:
    """`repeats` times the one switch that tealet has."""
    return [{"frame switch soft": switching(switches // 2)} for _ in range(repeats)]


def block(current: Any, home: Any) -> Any:
    """The blocked function: gives control back once and ends when it is switched to again."""
    home.switch()
    return home


def start(home: Any) -> Any:
    """A tealet that has run up to its blocking point."""
    waiting = tealet()
    waiting.run(block, home)
    return waiting


def memory(count: int, rounds: int, context: bool, flavour: str, meter: Any) -> None:
    """Tealets that have switched away."""
    home = main()
    for _ in range(rounds):
        meter.begin()
        waiting = [start(home) for _ in range(count)]
        meter.blocked(sum(1 for each in waiting if each.state != STATE_EXIT))
        for each in waiting:
            each.switch()
        meter.finished(sum(1 for each in waiting if each.state == STATE_EXIT))
        del waiting, each
