/* The interpreter's data-stack chunks, from blocks of ours.
 *
 * CPython gets each further chunk (16 KiB) from its arena allocator and gives it
 * back when the call that needed it returns.  In a loop that calls across the end
 * of a chunk that is a map, a fault and an unmap for every call: fifty times the
 * price of the call.  The public PyObject_SetArenaAllocator puts our blocks in
 * between; all other sizes go through untouched.
 *
 * A block has room behind the chunk.  When the chunk above is given back, the one
 * below doubles its size, into that room: the interpreter reads the size right
 * afterwards to find the chunk's end, and the loop crosses no border any more.
 * It may keep the old end a little longer, which is only smaller.
 *
 * Blocks are known by their address, for their size changes.
 */
#include "cpython/cpython.h"

#include "heap/heap.h"

#if C_FREE_THREADED
#define TAKE h_block_take_locked
#define GIVE h_block_give_locked
#else
#define TAKE h_block_take
#define GIVE h_block_give
#endif

static PyObjectArenaAllocator original;

static void *take(void *ctx, size_t size)
{
    (void)ctx;
    if (size == H_CHUNK) {
        void *block = TAKE();
        if (block != NULL)
            return block;
    }
    return original.alloc(original.ctx, size);
}

static void give(void *ctx, void *block, size_t size)
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

void c_chunk_cache_install(void)
{
    PyObjectArenaAllocator ours = {NULL, take, give};
    if (original.alloc != NULL)
        return;
    PyObject_GetArenaAllocator(&original);
    PyObject_SetArenaAllocator(&ours);
}
