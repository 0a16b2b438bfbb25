/* The interpreter's data-stack chunks, allocated from blocks of ours, and the first chunks of
 * tasklets, which we give it.
 *
 * CPython gets each further chunk (16 KiB) from its arena allocator and frees it when the call that
 * needed it returns.  In a loop that calls across the end of a chunk, that is a map, a page fault
 * and an unmap for every call: fifty times the cost of the call.  The public
 * PyObject_SetArenaAllocator lets us serve chunks from our blocks; requests of all other sizes go
 * to the original allocator.
 *
 * A block has room behind its chunk.  When the chunk above is freed, the one below doubles its
 * size, into that room: the interpreter reads the size right afterwards to find the chunk's end,
 * and the loop no longer crosses it.  The interpreter may use the old end a little longer, which is
 * only smaller.
 *
 * Blocks are recognised by their address, because their size changes.
 */
#include "cpython/cpython.h"

#include "heap/heap.h"

#if C_FREE_THREADED
#define TAKE h_block_take_locked
#define GIVE h_block_give_locked
#define TAKE_FIRST h_chunk_take_locked
#define GIVE_FIRST h_chunk_give_locked
#else
#define TAKE h_block_take
#define GIVE h_block_give
#define TAKE_FIRST h_chunk_take
#define GIVE_FIRST h_chunk_give
#endif

static PyObjectArenaAllocator original;

static void *allocate_chunk(void *ctx, size_t size)
{
    (void)ctx;
    if (size == H_CHUNK) {
        void *block = TAKE();
        if (block != NULL)
            return block;
    }
    return original.alloc(original.ctx, size);
}

static void free_chunk(void *ctx, void *block, size_t size)
{
    (void)ctx;
    if (!h_block_is_ours(block)) {
        original.free(original.ctx, block, size);
        return;
    }
    _PyStackChunk *below = ((_PyStackChunk *)block)->previous;
    if (h_block_is_ours(below) && below->size < H_BLOCK)
        below->size *= 2;
    GIVE(block);
}

void *c_chunk_new(size_t size)
{
    return c_out_of_memory() ? NULL : TAKE_FIRST(size);
}

void c_chunk_free(void *chunk, size_t size)
{
    GIVE_FIRST(chunk, size);
}

void c_chunk_cache_install(void)
{
    PyObjectArenaAllocator ours = {NULL, allocate_chunk, free_chunk};
    if (original.alloc != NULL)
        return;
    PyObject_GetArenaAllocator(&original);
    PyObject_SetArenaAllocator(&ours);
}
