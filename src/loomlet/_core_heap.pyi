"""Figures of loomlet._core: those behind loomlet.heap, and those of _stats()."""

from typing import TypedDict

class _Stats(TypedDict):
    soft: int
    hard: int
    why_hard: dict[str, int]
    stacks: int
    tasklet_size: int

class _HeapStats(TypedDict):
    chunks: dict[int, int]
    chunk_bytes: int
    slab_bytes: int
    large_chunks: int
    large_chunk_bytes: int
    blocks: int
    spare_blocks: int
    stacks: int
    spare_stacks: int
    stacks_made: int
    tasklet_size: int

def _heap_stats() -> _HeapStats: ...
def _heap_trim() -> None: ...
