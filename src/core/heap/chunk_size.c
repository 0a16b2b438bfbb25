/* Learned sizes of first frame chunks: a direct-mapped table of hints.
 *
 * A hint is one byte, read and written without a lock: a lost update, or two code objects that
 * share a hint, cost some bytes of memory, never correctness.
 */
#include "heap/heap.h"

#include "base/b_check.h"
#include "heap/chunk_pool.h"

#include <stdint.h>

#define HINTS 4096
#define SLACK 64

static uint8_t learned[HINTS];

static uint8_t *hint_of(const void *key)
{
    uintptr_t bits = (uintptr_t)key >> 4;
    return &learned[(bits ^ bits >> 12) % HINTS];
}

/* The smallest class for so many bytes, or the largest. */
static int class_for(size_t bytes)
{
    return h_class_for(bytes < H_CHUNK_LARGEST ? bytes : H_CHUNK_LARGEST);
}

B_INLINE size_t h_chunk_size(const void *key, size_t need)
{
    int at = class_for(need + SLACK), hint = __atomic_load_n(hint_of(key), __ATOMIC_RELAXED);
    size_t size = h_class_sizes[at > hint ? at : hint];
    return size >= need + SLACK ? size : need + SLACK;
}

void h_chunk_outgrown(const void *key, size_t size)
{
    int next = class_for(size + 1);
    uint8_t *hint = hint_of(key);
    if (next > __atomic_load_n(hint, __ATOMIC_RELAXED))
        __atomic_store_n(hint, (uint8_t)next, __ATOMIC_RELAXED);
}
