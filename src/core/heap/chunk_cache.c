/* The cache of chunks where several threads may come at once: one short lock. */
#include "heap/heap.h"
#include "plat/plat.h"

h_cache_state h_cache;

static p_lock lock;

void *h_cache_take_locked(void)
{
    p_lock_take(&lock);
    void *block = h_cache_take();
    p_lock_give(&lock);
    return block;
}

int h_cache_give_locked(void *block)
{
    p_lock_take(&lock);
    int kept = h_cache_give(block);
    p_lock_give(&lock);
    return kept;
}

void h_cache_after_fork(void)
{
    lock.word = 0;
}
