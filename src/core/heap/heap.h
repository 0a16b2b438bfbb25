/* Memory for frames: the first chunk of a tasklet's data stack, and further ones.
 *
 * A tasklet's first chunk is small (256 bytes for a small function), because a blocked tasklet is
 * mostly that chunk.  The size is learned per code object: when a tasklet is suspended in a further
 * chunk, the next tasklet that starts with the same code gets a larger first chunk.  The
 * interpreter's own chunks are 16 KiB of fresh address space each, mapped and unmapped at every
 * call across the end of a chunk; they come from here instead and are kept (chunk_block.c).
 *
 * This room knows no Python: code objects are keys, and chunks are memory.
 */
#ifndef LOOMLET_HEAP_H
#define LOOMLET_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "heap/chunk_pool.h"

/* Bytes to allocate for the first chunk of a tasklet that starts with the code
 * that `key` stands for and needs at least `need` bytes.  Any thread. */
size_t h_chunk_size(const void *key, size_t need);
/* A tasklet of that code outgrew a chunk of `size` bytes. */
void h_chunk_outgrown(const void *key, size_t size);

#define H_CHUNK 16384             /* what the interpreter asks for */
#define H_BLOCK ((size_t)1 << 18) /* the address space behind it, into which it can grow */
#define H_BLOCKS 16384
#define H_WARM 16

/* Freed blocks.  A call across the end of a chunk is little more than one take and one give, so
 * these two have no lock: they are for callers that exclude each other (they hold a GIL).  The
 * `_locked` functions are for any thread.  A process uses one pair or the other. */
typedef struct {
    char *base;           /* of the region; NULL before the first block */
    uint32_t count, cold; /* of the freed ones: all, and the lowest, which have no pages */
    uint16_t free[H_BLOCKS];
} h_block_pool;
extern h_block_pool h_blocks;

void *h_block_take_slow(void);
void h_block_cool(void);

static inline int h_block_is_ours(const void *block)
{
    char *base = __atomic_load_n(&h_blocks.base, __ATOMIC_RELAXED);
    return base != NULL && (uintptr_t)block - (uintptr_t)base < H_BLOCKS * H_BLOCK;
}

/* NULL when the region is used up: the memory must come from elsewhere. */
static inline void *h_block_take(void)
{
    if (__builtin_expect(h_blocks.count == h_blocks.cold, 0))
        return h_block_take_slow();
    return h_blocks.base + h_blocks.free[--h_blocks.count] * H_BLOCK;
}

static inline void h_block_give(void *block)
{
    h_blocks.free[h_blocks.count++] = (uint16_t)((size_t)((char *)block - h_blocks.base) / H_BLOCK);
    if (__builtin_expect(h_blocks.count - h_blocks.cold > H_WARM, 0))
        h_block_cool();
}

void *h_block_take_locked(void);
void h_block_give_locked(void *block);
void h_blocks_after_fork(void);
/* Gives the pages of the freed blocks back to the system.  For callers that exclude each other. */
void h_blocks_trim(void);
/* Blocks in use, and freed ones that keep their pages. */
typedef struct {
    size_t in_use, warm;
} h_block_counts;
void h_blocks_count(h_block_counts *counts);

#endif
