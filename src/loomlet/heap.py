"""The memory of loomlet's own pools: what they hold, and giving it back.

A tasklet is an object of Python's allocator, a *first chunk* of frame memory, further chunks in
*blocks* where its calls go deep, and a C *stack* where it was switched hard.  The last three come
from pools in C (src/core/heap, src/core/plat), which this module reads and trims.

Any thread.
"""

from __future__ import annotations

from typing import TypedDict, cast

from loomlet import _core

__all__ = ["Stats", "stats", "trim"]


class Stats(TypedDict):
    """What stats() returns; sizes are in bytes.

    chunks: how many first chunks of each size are in use, by size: one for each tasklet that has
    not ended, and one for each thread that has tasklets.  chunk_bytes: these together.
    slab_bytes: what the pool of first chunks has from the system, those that are free included.
    large_chunks, large_chunk_bytes: first chunks that came from the C library.
    blocks: further chunks in use, each of 16 KiB at first and 256 KiB at most.
    spare_blocks: those that are free and keep their pages.
    stacks: C stacks that threads have, in use or spare.  spare_stacks: of these, the spare ones.
    stacks_made: how many there have been at one time; what is not in `stacks` holds no memory.
    tasklet_size: of a tasklet's object, which Python's allocator has.
    """

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


def stats() -> Stats:
    """What the pools of the process hold and use, now.

    Takes some microseconds.  Where other threads run without the GIL, the numbers may be from
    slightly different moments.  Any thread.
    """
    return cast("Stats", _core._heap_stats())


def trim() -> None:
    """Gives memory that nobody uses back to the system.

    Free first chunks and blocks of the process, spare C stacks of the calling thread, and with
    glibc what the C library can give back (`malloc_trim`).  It is taken again when it is needed.
    Takes up to a tenth of a second for each gigabyte, in which the GIL is released.  Any thread.
    """
    _core._heap_trim()
