"""The interpreter's data-stack chunks come from our blocks and grow into the room behind them."""

from __future__ import annotations

import ctypes
import sys

import loomlet

CHUNK, BLOCK = 16384, 1 << 18


class Allocator(ctypes.Structure):
    """PyObjectArenaAllocator."""

    _fields_ = (
        ("ctx", ctypes.c_void_p),
        ("alloc", ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)),
        (
            "free",
            ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
        ),
    )


class Chunk(ctypes.Structure):
    """The head of a chunk, which is a public structure."""

    _fields_ = (
        ("previous", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("top", ctypes.c_size_t),
    )


def allocator() -> Allocator:
    """The arena allocator that the interpreter uses now."""
    found = Allocator()
    ctypes.pythonapi.PyObject_GetArenaAllocator(ctypes.byref(found))
    return found


def test_a_chunk_doubles_each_time_the_one_above_is_freed() -> None:
    """It grows up to the end of its block; the interpreter reads the size right afterwards."""
    arena = allocator()
    lower = arena.alloc(arena.ctx, CHUNK)
    below = Chunk.from_address(lower)
    below.previous, below.size = None, CHUNK
    sizes = []
    for _ in range(6):
        upper = arena.alloc(arena.ctx, CHUNK)
        above = Chunk.from_address(upper)
        above.previous, above.size = lower, CHUNK
        arena.free(arena.ctx, upper, above.size)
        sizes.append(below.size)
    ctypes.memset(lower + CHUNK, 1, BLOCK - CHUNK)
    arena.free(arena.ctx, lower, below.size)
    assert sizes == [CHUNK * 2, CHUNK * 4, CHUNK * 8, BLOCK, BLOCK, BLOCK]


def test_chunks_that_are_not_ours_stay_as_they_are() -> None:
    """A tasklet's first chunk is the interpreter's neighbour, not one of these blocks."""
    arena = allocator()
    first = Chunk(None, 256, 0)
    upper = arena.alloc(arena.ctx, CHUNK)
    Chunk.from_address(upper).previous = ctypes.addressof(first)
    arena.free(arena.ctx, upper, CHUNK)
    assert first.size == 256


def test_other_sizes_go_to_the_interpreters_own_allocator() -> None:
    """Arenas of objects, and chunks for frames of unusual size."""
    arena = allocator()
    block = arena.alloc(arena.ctx, BLOCK)
    ctypes.memset(block, 1, BLOCK)
    arena.free(arena.ctx, block, BLOCK)


def test_calls_at_every_depth_return_right() -> None:
    """Each level calls again and again across a chunk's end, if one lies near."""

    def leaf(depth: int) -> int:
        return depth

    def descend(depth: int) -> int:
        here = sum(leaf(depth) for _ in range(3)) + leaf(depth) + leaf(depth)
        return here + (descend(depth - 1) if depth else 0)

    depth = min(800, sys.getrecursionlimit() - 150)
    want = 5 * depth * (depth + 1) // 2

    def main() -> list[int]:
        tasklets = [loomlet.spawn(descend, depth) for _ in range(20)]
        return [tasklet.result() for tasklet in tasklets]

    assert loomlet.run(main) == [want] * 20
