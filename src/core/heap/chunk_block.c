/* Blocks for the interpreter's data-stack chunks, from one reserved region.
 *
 * Freed blocks are a stack of indexes, last in first out.  The upper H_WARM of them keep their
 * pages, because the next deep call needs them at once; those below `cold` have given them back.
 * In a loop that takes and gives, no pages are given back: the border moves only when the stack
 * outgrows it.  The region itself stays: a frame chunk may outlive everything else in the process.
 */
#include "heap/heap.h"

#include "base/b_check.h"
#include "plat/plat.h"

h_block_pool h_blocks;

static p_lock lock;
static uint32_t carved; /* blocks that were ever used */

B_COLD void *h_block_take_slow(void)
{
    if (h_blocks.count > 0) {
        h_blocks.cold--;
        return h_blocks.base + h_blocks.free[--h_blocks.count] * H_BLOCK;
    }
    if (h_blocks.base == NULL)
        __atomic_store_n(&h_blocks.base, p_reserve(H_BLOCKS * H_BLOCK), __ATOMIC_RELAXED);
    if (h_blocks.base == NULL || carved == H_BLOCKS)
        return NULL;
    return h_blocks.base + carved++ * H_BLOCK;
}

B_COLD void h_block_cool(void)
{
    p_release_pages(h_blocks.base + h_blocks.free[h_blocks.cold++] * H_BLOCK, H_BLOCK);
}

void *h_block_take_locked(void)
{
    p_lock_take(&lock);
    void *block = h_block_take();
    p_lock_give(&lock);
    return block;
}

void h_block_give_locked(void *block)
{
    p_lock_take(&lock);
    h_block_give(block);
    p_lock_give(&lock);
}

void h_blocks_trim(void)
{
    p_lock_take(&lock);
    while (h_blocks.cold < h_blocks.count)
        h_block_cool();
    p_lock_give(&lock);
}

void h_blocks_count(h_block_counts *counts)
{
    p_lock_take(&lock);
    counts->in_use = carved - h_blocks.count;
    counts->warm = h_blocks.count - h_blocks.cold;
    p_lock_give(&lock);
}

void h_blocks_after_fork(void)
{
    lock.word = 0;
}
