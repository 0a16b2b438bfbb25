/* The interpreter's data-stack chunks through our cache.
 *
 * CPython gets each further chunk (16 KiB) from its arena allocator and gives
 * it back when the call that needed it returns.  In a loop that calls across the
 * end of a chunk that is a map, a fault and an unmap for every call: fifty times
 * the price of the call.  The public PyObject_SetArenaAllocator puts a small
 * cache in between; all other sizes go through untouched.
 */
#include "cpython/cpython.h"

#include "heap/heap.h"

#if C_FREE_THREADED
#define CACHE_TAKE h_cache_take_locked
#define CACHE_GIVE h_cache_give_locked
#else
#define CACHE_TAKE h_cache_take
#define CACHE_GIVE h_cache_give
#endif

static PyObjectArenaAllocator original;

static void *take(void *ctx, size_t size)
{
    (void)ctx;
    if (size == H_CHUNK) {
        void *block = CACHE_TAKE();
        if (block != NULL)
            return block;
    }
    return original.alloc(original.ctx, size);
}

static void give(void *ctx, void *block, size_t size)
{
    (void)ctx;
    if (size != H_CHUNK || !CACHE_GIVE(block))
        original.free(original.ctx, block, size);
}

void c_arena_install(void)
{
    PyObjectArenaAllocator cached = {NULL, take, give};
    if (original.alloc != NULL)
        return;
    PyObject_GetArenaAllocator(&original);
    PyObject_SetArenaAllocator(&cached);
}
