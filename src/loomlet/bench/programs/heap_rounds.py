"""Crowds of tasklets, a round after the other: plain ones, deep ones, and those that keep a stack.

All of a round wait for one channel; the meter is called when nothing of the round exists, when all
wait, and when all have ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import loomlet
from loomlet import Channel, schedule, spawn

DEPTH = 30
TOGETHER = 1_000  # how many are made before they run: the queue stays short


def plain(gate: Channel, ended: list[None]) -> None:
    """Waits in the function that was spawned."""
    gate.receive()
    ended.append(None)


def deep(gate: Channel, ended: list[None], depth: int = DEPTH) -> None:
    """Waits below that many calls."""
    if depth:
        deep(gate, ended, depth - 1)
    else:
        plain(gate, ended)


def hard(gate: Channel, ended: list[None]) -> None:
    """Waits below sorted(), which is C."""

    def wait(number: int) -> int:
        plain(gate, ended)
        return number

    sorted([0], key=wait)


KINDS: dict[str, Callable[[Channel, list[None]], None]] = {
    "plain": plain,
    "deep": deep,
    "hard": hard,
}


def run_one(call: Callable[[Channel, list[None]], None], count: int, meter: Any) -> None:
    """One round."""
    gate, ended = Channel(), list[None]()
    meter.begin()
    for made in range(count):
        spawn(call, gate, ended)
        if made % TOGETHER == 0:
            schedule()
    schedule()
    meter.blocked(-gate.balance)
    for _ in range(count):
        gate.send(None)
    while len(ended) < count:
        schedule()
    schedule()
    meter.finished(len(ended))


def run(kind: str, count: int, rounds: int, meter: Any) -> None:
    """All rounds, in one process."""

    def main() -> None:
        for _ in range(rounds):
            run_one(KINDS[kind], count, meter)

    loomlet.run(main, slice=None)
