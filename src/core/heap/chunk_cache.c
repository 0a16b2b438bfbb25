/* A few blocks of H_CHUNK bytes, kept instead of being unmapped.
 *
 * Guarded by one short lock: it is taken when a call crosses the end of a chunk,
 * which is rare beside what mapping memory would cost.
 */
#include "heap/heap.h"
#include "plat/plat.h"

#define KEPT 64

static p_lock lock;
static void *kept[KEPT];
static int count;

void *h_cache_take(void)
{
    void *block = NULL;
    p_lock_take(&lock);
    if (count > 0)
        block = kept[--count];
    p_lock_give(&lock);
    return block;
}

int h_cache_give(void *block)
{
    p_lock_take(&lock);
    int room = count < KEPT;
    if (room)
        kept[count++] = block;
    p_lock_give(&lock);
    return room;
}

void h_cache_after_fork(void)
{
    lock.word = 0;
}
