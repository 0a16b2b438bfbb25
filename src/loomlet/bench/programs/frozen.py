"""Functions that are frozen half-way by the experiment on freezing; importable on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loomlet import Channel


def waiting(channel: Channel, number: int) -> Any:
    """Waits below one call."""
    double = 2 * number
    return double, channel.receive()


def below(channel: Channel, depth: int) -> Any:
    """Waits below `depth` calls."""
    return below(channel, depth - 1) if depth > 1 else waiting(channel, depth)


def handler(channel: Channel, user: str) -> dict[str, Any]:
    """A request half-way: lines are read, counted and answered."""
    counts: dict[str, int] = {}

    def note(line: str) -> int:
        counts[user] = counts.get(user, 0) + len(line)
        return counts[user]

    def lines() -> Iterator[str]:
        for number in range(3):
            yield f"{number}: {channel.receive()}"

    try:
        answers = [note(line) for _, line in zip(range(10), ["first", "second"], strict=False)]
        for line in lines():
            answers.append(note(line))
    except ValueError:
        answers = []
    return {"user": user, "answers": answers}
