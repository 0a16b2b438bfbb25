"""map, gather, race: several functions at once, in a TaskGroup, for their results.

They are shorthand for what a TaskGroup does: the first failure cancels the others, all failures are
raised as one ExceptionGroup, and when the call returns or raises, every tasklet has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from loomlet._scopes import TaskGroup, spawn_or_stop

__all__ = ["gather", "map", "race"]

T = TypeVar("T")
R = TypeVar("R")


def map(function: Callable[[T], R], items: Iterable[T], *, limit: int | None = None) -> list[R]:
    """The list of function(item) for all items, in their order, each in a tasklet of its own.

    `limit`: so many of them run at once; the next item is taken when one has ended.
    """
    with TaskGroup(limit=limit) as group:
        if limit is None:
            children = [spawn_or_stop(group, function, item) for item in items]
        else:
            children = [group.spawn(function, item) for item in items]
    return [child.result() for child in children]


def gather(*functions: Callable[[], R]) -> list[R]:
    """Calls all functions at once, without arguments; returns their results in this order."""
    with TaskGroup() as group:
        children = [spawn_or_stop(group, function) for function in functions]
    return [child.result() for child in children]


def race(*functions: Callable[[], R]) -> R:
    """Calls all functions at once, without arguments; returns the result of the first that returns
    and cancels the others."""
    if not functions:
        raise ValueError("race() expected at least one function, found none")
    first: list[R] = []
    with TaskGroup() as group:
        for function in functions:
            spawn_or_stop(group, _run_against, group, function, first)
    return first[0]


def _run_against(group: TaskGroup, function: Callable[[], Any], first: list[Any]) -> None:
    result = function()
    if not first:
        first.append(result)
        group.cancel()
