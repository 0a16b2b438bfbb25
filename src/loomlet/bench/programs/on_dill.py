"""A bare closure as bytes, by dill."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import dill

Case = tuple[str, Callable[[], bytes], Callable[[bytes], Any], Callable[[list[Any]], None]]


def closure() -> Callable[[], int]:
    """A function with one variable of its surroundings."""
    number = 3

    def inner() -> int:
        return number

    inner.__module__ = "__main__"
    return inner


def freeze() -> Iterator[Case]:
    """One case: saving it, loading it, forgetting what was loaded."""
    bare = closure()
    yield "closure", lambda: dill.dumps(bare), pickle.loads, list[Any].clear
