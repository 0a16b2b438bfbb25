"""A bare closure as bytes, by the library that `flavour` names: cloudpickle or dill."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable, Iterator
from typing import Any

Case = tuple[str, Callable[[], bytes], Callable[[bytes], Any], Callable[[list[Any]], None]]


def closure() -> Callable[[], int]:
    """A function with one variable of its surroundings."""
    number = 3

    def inner() -> int:
        return number

    inner.__module__ = "__main__"
    return inner


def freeze(flavour: str) -> Iterator[Case]:
    """One case: saving it, loading it, forgetting what was loaded."""
    library, bare = importlib.import_module(flavour), closure()
    yield "closure", lambda: library.dumps(bare), pickle.loads, list[Any].clear
