/* First frame chunks, cut from slabs of 64 KiB in one reserved region.
 *
 * A slab holds chunks of one size class.  What is known of it lies apart, in a table, so that the
 * slab is chunks and nothing else, and an address leads there by a shift.  Chunks that were given
 * back are linked through their first word; what was never cut is not touched.
 *
 * A slab is in one of four places: in the list of its class while it has room; in no list while it
 * is full; among the warm ones of its pool once it is empty, where any class may take it; among the
 * cold ones when its pages have gone back to the system.  The last slab of a class stays in its
 * list even when it is empty: one tasklet after the other then moves no slab.  Half as many as are
 * in use may stay warm, and a few more: a load that goes up and down does without the system, and
 * when all tasklets have ended nearly all pages are back.
 *
 * Threads.  Callers that exclude each other (they hold a GIL) use pool 0 without its lock.  Without
 * a GIL there are several pools, each with its lock; a thread takes from one of them for life, and
 * a chunk goes back to the pool that it came from, by whichever thread.  A process uses one kind of
 * function or the other.  A lock that another thread held at a fork guards lists that may be half
 * changed: the child takes nothing from that pool, and drops what belongs to it.
 *
 * Rejected: PyMem_Malloc, which is the C library above 512 bytes.  After 300 000 tasklets that
 * had been 30 calls deep, 630 or 956 MB of 1283 stayed, because one block in use at the end of the
 * C library's heap keeps all that lies below it.
 */
#include "heap/chunk_pool.h"

#include <stdlib.h>

#include "base/b_check.h"
#include "base/b_list.h"
#include "base/track.h"
#include "heap/heap.h"
#include "plat/plat.h"

#define SLAB ((size_t)1 << 16)
#define REGION ((size_t)1 << 36)
#define REGION_LEAST ((size_t)1 << 26)
#define POOLS 16
#define WARM 16
#define SIZE_STEP 128 /* all classes are multiples of it */

const unsigned short h_class_sizes[H_CLASSES] = {256,  384,  512,  768,  1024,
                                                 1536, 2048, 4096, 6144, 8192};

static const uint8_t class_of_steps[] = {
    [0 ... 2] = 0,  [3] = 1,         [4] = 2,         [5 ... 6] = 3,   [7 ... 8] = 4,
    [9 ... 12] = 5, [13 ... 16] = 6, [17 ... 32] = 7, [33 ... 48] = 8, [49 ... 64] = 9,
};

typedef struct {
    b_link link;
    void *freed;
    uint16_t used, cut, room; /* chunks in use; that were ever cut; that it has in all */
    uint8_t pool, size_class;
} slab;

typedef struct {
    p_lock lock;
    int lost; /* its lock was held at a fork */
    b_link with_room[H_CLASSES], warm, cold;
    uint32_t busy_count, warm_count, cold_count; /* slabs */
    size_t in_use[H_CLASSES];
} __attribute__((aligned(2 * B_CACHE_LINE))) chunk_pool;

static chunk_pool pools[POOLS];
static __thread uint8_t chosen __attribute__((tls_model("initial-exec"))); /* 1 + its pool; or 0 */
static unsigned choices;
static size_t large_count, large_bytes; /* chunks from the C library */

static struct {
    p_lock lock;
    char *base; /* written once, before any slab */
    size_t size;
    slab *slabs;
    size_t carved; /* slabs that were ever used */
    int refused;
} region;

int h_class_for(size_t size)
{
    return class_of_steps[(size + SIZE_STEP - 1) / SIZE_STEP];
}

static char *slab_memory(const slab *s)
{
    return region.base + (size_t)(s - region.slabs) * SLAB;
}

static B_INLINE char *region_base(void)
{
    return __atomic_load_n(&region.base, __ATOMIC_ACQUIRE);
}

static B_INLINE slab *slab_of(const void *chunk)
{
    char *base = region_base();
    size_t at = (uintptr_t)chunk - (uintptr_t)base;
    return base != NULL && at < region.size ? &region.slabs[at / SLAB] : NULL;
}

static void init_pools(void)
{
    for (chunk_pool *pool = pools; pool < pools + POOLS; pool++) {
        for (int i = 0; i < H_CLASSES; i++)
            b_list_init(&pool->with_room[i]);
        b_list_init(&pool->warm);
        b_list_init(&pool->cold);
    }
}

/* The largest region that the limits of this process allow. */
static void reserve_slabs(void)
{
    char *base = NULL;
    size_t size = REGION;
    while (size >= REGION_LEAST && (base = p_reserve(size)) == NULL)
        size /= 4;
    region.slabs = base != NULL ? p_reserve(size / SLAB * sizeof(slab)) : NULL;
    region.refused = region.slabs == NULL;
    if (region.refused)
        return;
    region.size = size;
    init_pools();
    __atomic_store_n(&region.base, base, __ATOMIC_RELEASE);
}

static slab *carve_slab(void)
{
    slab *s = NULL;
    p_lock_take(&region.lock);
    if (region.carved < region.size / SLAB)
        s = &region.slabs[region.carved++];
    p_lock_give(&region.lock);
    return s;
}

static slab *take_empty(chunk_pool *pool)
{
    b_link *link = b_first(&pool->warm);
    if (link != NULL)
        pool->warm_count--;
    else if ((link = b_first(&pool->cold)) != NULL)
        pool->cold_count--;
    else
        return carve_slab();
    b_unlink(link);
    return B_CONTAINER(link, slab, link);
}

static B_COLD slab *begin_slab(chunk_pool *pool, int size_class)
{
    slab *s = take_empty(pool);
    if (s == NULL)
        return NULL;
    s->freed = NULL;
    s->used = s->cut = 0;
    s->room = (uint16_t)(SLAB / h_class_sizes[size_class]);
    s->pool = (uint8_t)(pool - pools);
    s->size_class = (uint8_t)size_class;
    b_append(&pool->with_room[size_class], &s->link);
    pool->busy_count++;
    return s;
}

static void cool_one(chunk_pool *pool)
{
    slab *s = B_CONTAINER(pool->warm.prev, slab, link);
    b_unlink(&s->link);
    b_prepend(&pool->cold, &s->link);
    pool->warm_count--;
    pool->cold_count++;
    p_release_pages(slab_memory(s), SLAB);
}

static B_COLD void end_slab(chunk_pool *pool, slab *s)
{
    b_unlink(&s->link);
    b_prepend(&pool->warm, &s->link);
    pool->warm_count++;
    pool->busy_count--;
    while (pool->warm_count > WARM + pool->busy_count / 2)
        cool_one(pool);
}

static B_INLINE void *take_from(chunk_pool *pool, int size_class)
{
    b_link *first = b_first(&pool->with_room[size_class]);
    slab *s = first != NULL ? B_CONTAINER(first, slab, link) : begin_slab(pool, size_class);
    if (B_UNLIKELY(s == NULL))
        return NULL;
    void *chunk = s->freed;
    if (chunk != NULL)
        s->freed = *(void **)chunk;
    else
        chunk = slab_memory(s) + (size_t)s->cut++ * h_class_sizes[size_class];
    if (++s->used == s->room)
        b_unlink(&s->link);
    pool->in_use[size_class]++;
    track_use(chunk, h_class_sizes[size_class]);
    return chunk;
}

static B_INLINE void give_to(chunk_pool *pool, slab *s, void *chunk)
{
    int size_class = s->size_class;
    if (s->used == s->room)
        b_prepend(&pool->with_room[size_class], &s->link);
    *(void **)chunk = s->freed;
    s->freed = chunk;
    pool->in_use[size_class]--;
    track_free((void **)chunk + 1, h_class_sizes[size_class] - sizeof(void *));
    if (--s->used == 0 && s->link.next != s->link.prev)
        end_slab(pool, s);
}

static B_COLD void *take_large(size_t size)
{
    void *chunk = malloc(size);
    if (chunk != NULL) {
        __atomic_fetch_add(&large_count, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&large_bytes, size, __ATOMIC_RELAXED);
    }
    return chunk;
}

static B_COLD void give_large(void *chunk, size_t size)
{
    __atomic_fetch_sub(&large_count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&large_bytes, size, __ATOMIC_RELAXED);
    free(chunk);
}

/* Whether chunks of this size come from slabs. */
static B_INLINE int is_pooled(size_t size)
{
    return B_LIKELY(size <= H_CHUNK_LARGEST && region_base() != NULL);
}

/* The same where the region may not have been reserved yet. */
static B_COLD int begin_pooling(size_t size)
{
    if (size > H_CHUNK_LARGEST)
        return 0;
    p_lock_take(&region.lock);
    if (region.base == NULL && !region.refused)
        reserve_slabs();
    p_lock_give(&region.lock);
    return !region.refused;
}

void *h_chunk_take(size_t size)
{
    void *chunk = NULL;
    if (is_pooled(size) || begin_pooling(size))
        chunk = take_from(&pools[0], h_class_for(size));
    return B_LIKELY(chunk != NULL) ? chunk : take_large(size);
}

void h_chunk_give(void *chunk, size_t size)
{
    slab *s = slab_of(chunk);
    if (B_LIKELY(s != NULL))
        give_to(&pools[0], s, chunk);
    else if (chunk != NULL)
        give_large(chunk, size);
}

static chunk_pool *pool_of_thread(void)
{
    if (chosen == 0)
        chosen = 1 + __atomic_fetch_add(&choices, 1, __ATOMIC_RELAXED) % POOLS;
    return &pools[chosen - 1];
}

void *h_chunk_take_locked(size_t size)
{
    chunk_pool *pool = pool_of_thread();
    void *chunk = NULL;
    if (!pool->lost && (is_pooled(size) || begin_pooling(size))) {
        p_lock_take(&pool->lock);
        chunk = take_from(pool, h_class_for(size));
        p_lock_give(&pool->lock);
    }
    return chunk != NULL ? chunk : take_large(size);
}

void h_chunk_give_locked(void *chunk, size_t size)
{
    slab *s = slab_of(chunk);
    if (s == NULL && chunk != NULL)
        give_large(chunk, size);
    if (s == NULL || pools[s->pool].lost)
        return;
    p_lock_take(&pools[s->pool].lock);
    give_to(&pools[s->pool], s, chunk);
    p_lock_give(&pools[s->pool].lock);
}

static void trim_pool(chunk_pool *pool)
{
    for (int i = 0; i < H_CLASSES; i++) {
        b_link *last = pool->with_room[i].prev;
        slab *s = B_CONTAINER(last, slab, link);
        if (last != &pool->with_room[i] && s->used == 0)
            end_slab(pool, s);
    }
    while (pool->warm_count > 0)
        cool_one(pool);
}

void h_chunks_trim(void)
{
    if (region_base() == NULL)
        return;
    for (chunk_pool *pool = pools; pool < pools + POOLS; pool++) {
        p_lock_take(&pool->lock);
        if (!pool->lost)
            trim_pool(pool);
        p_lock_give(&pool->lock);
    }
}

void h_chunks_count(h_chunk_counts *counts)
{
    *counts = (h_chunk_counts){.large = __atomic_load_n(&large_count, __ATOMIC_RELAXED),
                               .large_bytes = __atomic_load_n(&large_bytes, __ATOMIC_RELAXED)};
    if (region_base() == NULL)
        return;
    p_lock_take(&region.lock);
    size_t slabs = region.carved;
    p_lock_give(&region.lock);
    for (chunk_pool *pool = pools; pool < pools + POOLS; pool++) {
        p_lock_take(&pool->lock);
        for (int i = 0; i < H_CLASSES; i++)
            counts->in_use[i] += pool->in_use[i];
        slabs -= pool->cold_count;
        p_lock_give(&pool->lock);
    }
    counts->resident_bytes = slabs * SLAB;
}

void h_chunks_after_fork(void)
{
    region.lock.word = 0;
    for (chunk_pool *pool = pools; pool < pools + POOLS; pool++) {
        pool->lost |= pool->lock.word != 0;
        pool->lock.word = 0;
    }
}
