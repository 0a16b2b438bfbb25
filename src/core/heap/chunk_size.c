/* Learned sizes of first frame chunks: a direct-mapped table of hints.
 *
 * A hint is one byte, read and written without a lock: a lost update or two
 * codes that share a place cost some bytes of memory, never correctness.
 */
#include "heap/heap.h"

#include <stdint.h>

#define PLACES 4096
#define SLACK 64

static const unsigned short classes[] = {256, 384, 512, 768, 1024, 1536, 2048, 4096};
#define CLASSES ((int)(sizeof(classes) / sizeof(classes[0])))

static uint8_t learned[PLACES];

static uint8_t *place(const void *key)
{
    uintptr_t bits = (uintptr_t)key >> 4;
    return &learned[(bits ^ bits >> 12) % PLACES];
}

static int fitting(size_t bytes)
{
    int at = 0;
    while (at < CLASSES - 1 && classes[at] < bytes)
        at++;
    return at;
}

size_t h_chunk_size(const void *key, size_t need)
{
    int at = fitting(need + SLACK), hint = __atomic_load_n(place(key), __ATOMIC_RELAXED);
    size_t size = classes[at > hint ? at : hint];
    return size >= need + SLACK ? size : need + SLACK;
}

void h_chunk_outgrown(const void *key, size_t size)
{
    int next = fitting(size + 1);
    uint8_t *hint = place(key);
    if (next > __atomic_load_n(hint, __ATOMIC_RELAXED))
        __atomic_store_n(hint, (uint8_t)next, __ATOMIC_RELAXED);
}
