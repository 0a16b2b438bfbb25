/* A few blocks of H_CHUNK bytes, kept instead of being unmapped.
 *
 * Guarded by one short lock, or by nothing where the callers exclude each other:
 * a call across the end of a chunk would else pay for two locks, half of its price.
 */
#include "heap/heap.h"
#include "plat/plat.h"

#define KEPT 64

int h_cache_locked = 1;

static p_lock lock;
static void *kept[KEPT];
static int count;

static void take_lock(void)
{
    if (h_cache_locked)
        p_lock_take(&lock);
}

static void give_lock(void)
{
    if (h_cache_locked)
        p_lock_give(&lock);
}

void *h_cache_take(void)
{
    take_lock();
    void *block = count > 0 ? kept[--count] : NULL;
    give_lock();
    return block;
}

int h_cache_give(void *block)
{
    take_lock();
    int room = count < KEPT;
    if (room)
        kept[count++] = block;
    give_lock();
    return room;
}

void h_cache_after_fork(void)
{
    lock.word = 0;
}
