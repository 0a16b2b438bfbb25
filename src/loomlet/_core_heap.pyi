"""Figures of loomlet._core: those behind loomlet.heap, and those of _stats()."""

from typing import Any, TypedDict

class _Stats(TypedDict):
    soft: int
    hard: int
    why_hard: dict[str, int]
    stacks: int
    tasklet_size: int

def _heap_stats() -> dict[str, Any]: ...
def _heap_trim() -> None: ...
