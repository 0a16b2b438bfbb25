/* Memory for frames: the first chunk of a tasklet's data stack, and further ones.
 *
 * A tasklet's first chunk is small (256 bytes for a small function), because a
 * blocked tasklet is mostly that chunk.  Which size a function needs is learned:
 * when a tasklet goes to sleep in a further chunk, the next one that starts with
 * the same code gets a larger first chunk.  The interpreter's own chunks are
 * 16 KiB of fresh address space each, mapped and unmapped at every call across
 * the end of a chunk; a few of them are kept instead (chunk_cache.c).
 *
 * This room knows no Python: the allocator is handed in.
 */
#ifndef LOOMLET_HEAP_H
#define LOOMLET_HEAP_H

#include <stddef.h>

/* Bytes to allocate for the first chunk of a tasklet that starts with the code
 * that `key` stands for and needs at least `need` bytes.  Any thread. */
size_t h_chunk_size(const void *key, size_t need);
/* A tasklet of that code outgrew a chunk of `size` bytes. */
void h_chunk_outgrown(const void *key, size_t size);

#define H_CHUNK 16384

#define H_KEPT 64

/* Blocks of H_CHUNK bytes, kept instead of being unmapped, linked by their first
 * word.  A call across the end of a chunk is little more than one take and one
 * give, so these two have no lock: for callers that exclude each other (they hold
 * a GIL).  The others are for any thread; a process uses either the ones or the
 * others. */
typedef struct {
    void *first;
    int count;
} h_cache_state;
extern h_cache_state h_cache;

/* NULL when there is none. */
static inline void *h_cache_take(void)
{
    void *block = h_cache.first;
    if (__builtin_expect(block != NULL, 1)) {
        h_cache.first = *(void **)block;
        h_cache.count--;
    }
    return block;
}

/* 0 when it is full: the block stays the caller's. */
static inline int h_cache_give(void *block)
{
    if (__builtin_expect(h_cache.count >= H_KEPT, 0))
        return 0;
    *(void **)block = h_cache.first;
    h_cache.first = block;
    h_cache.count++;
    return 1;
}

void *h_cache_take_locked(void);
int h_cache_give_locked(void *block);
void h_cache_after_fork(void);

#endif
