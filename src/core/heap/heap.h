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

/* Keeps H_CHUNK-sized blocks; take returns NULL when there is none, give 0 when full.
 * Any thread, while h_cache_locked is 1; 0 says that the callers exclude each other
 * (they hold a GIL).  Set before use. */
extern int h_cache_locked;
void *h_cache_take(void);
int h_cache_give(void *block);
void h_cache_after_fork(void);

#endif
