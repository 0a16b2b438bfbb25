/* Idents for threads that the system does not know, at addresses that C code may safely read.
 *
 * The ident of a thread is its pthread_t, and in the C libraries that is the address of the
 * thread's record.  Code that has an ident passes it to pthread_setname_np() and its like, which
 * read there and know no other test.  So an ident of ours is an address in memory that is reserved
 * for nothing else and is zero.  The libraries take that for the record of a thread that has ended:
 * they return an error, ESRCH or ENOENT, or do what was asked for the calling thread, which is
 * where such a thread runs (affinities).  Some lock a word of the record meanwhile, so the memory
 * can be written to.
 *
 * Memory.  An ident is 64 bytes of address space, and becomes memory where somebody looks at it:
 * records are longer and overlap, which is harmless, because all of them are zero but for a word
 * that is locked for a moment.  The table in front of the idents has one word for each: whose it
 * is, or the next free one.
 *
 * Order.  A free ident is given out again when REST others were returned after it, or when there
 * are no fresh ones: who remembers the ident of a thread that has ended shall find none by it for
 * some time.
 *
 * Rejected: a page for each, which for a million threads is 4 GiB that `ulimit -v` counts; the
 * record of the thread of the system that runs it, because idents tell threads apart; numbers that
 * are no addresses, at which libraries crash; memory that can only be read, because pthread_kill()
 * locks.
 */
#include "plat/plat.h"

#define APART 64
#define RECORD 8192 /* no C library reads further */
#define REGION_SIZE ((size_t)64 << 20)
#define REGION_LEAST ((size_t)64 << 10)
#define REGIONS 64
#define INDEX_BITS 20
#define REST 8192

/* Each ident has a number, region << INDEX_BITS | index; the number 0 means that there is none. */
typedef struct {
    uint64_t *table; /* owner * 2 + 1, or twice the number of the next free one */
    uintptr_t first, end;
} ident_region;

static p_lock lock;
static ident_region regions[REGIONS];
static uint32_t region_count; /* published after the region */
static uint32_t fresh;        /* the next number of the last region that nobody had yet */
static uint32_t oldest, newest, resting;

static ident_region *region_of_number(uint32_t number)
{
    return &regions[number >> INDEX_BITS];
}

static uint64_t *word_of_number(uint32_t number)
{
    return &region_of_number(number)->table[number & ((1u << INDEX_BITS) - 1)];
}

static uintptr_t ident_of_number(uint32_t number)
{
    return region_of_number(number)->first + (number & ((1u << INDEX_BITS) - 1)) * (uintptr_t)APART;
}

/* Or 0. */
static uint32_t number_of_ident(uintptr_t ident)
{
    uint32_t count = __atomic_load_n(&region_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        if (ident >= regions[i].first && ident < regions[i].end)
            return i << INDEX_BITS | (uint32_t)((ident - regions[i].first) / APART);
    }
    return 0;
}

/* Takes the largest region that the limits of this process allow. */
static int reserve_idents(void)
{
    char *at = NULL;
    size_t size = REGION_SIZE;
    if (region_count == REGIONS)
        return -1;
    while (size >= REGION_LEAST && (at = p_reserve(size)) == NULL)
        size /= 4;
    if (at == NULL)
        return -1;
    size_t count = (size - RECORD) / (APART + sizeof(uint64_t)) - 1;
    uintptr_t first = ((uintptr_t)at + count * sizeof(uint64_t) + APART) & ~(uintptr_t)(APART - 1);
    regions[region_count] = (ident_region){(uint64_t *)at, first, first + count * APART};
    fresh = region_count << INDEX_BITS | 1;
    __atomic_store_n(&region_count, region_count + 1, __ATOMIC_RELEASE);
    return 0;
}

static int has_fresh(void)
{
    return region_count > 0 && ident_of_number(fresh) < region_of_number(fresh)->end;
}

static uint32_t take_oldest(void)
{
    uint32_t number = oldest;
    oldest = (uint32_t)(*word_of_number(number) / 2);
    resting--;
    return number;
}

static uint32_t take_number(void)
{
    if (resting > REST || (resting > 0 && !has_fresh()))
        return take_oldest();
    return has_fresh() || reserve_idents() == 0 ? fresh++ : 0;
}

uintptr_t p_ident_take(uint64_t owner)
{
    p_lock_take(&lock);
    uint32_t number = take_number();
    if (number != 0)
        __atomic_store_n(word_of_number(number), owner * 2 + 1, __ATOMIC_RELAXED);
    p_lock_give(&lock);
    return number != 0 ? ident_of_number(number) : 0;
}

void p_ident_give(uintptr_t ident)
{
    uint32_t number = number_of_ident(ident);
    p_lock_take(&lock);
    __atomic_store_n(word_of_number(number), 0, __ATOMIC_RELAXED);
    if (resting++ > 0)
        __atomic_store_n(word_of_number(newest), number * 2ull, __ATOMIC_RELAXED);
    else
        oldest = number;
    newest = number;
    p_lock_give(&lock);
}

int p_ident_is_ours(uintptr_t ident)
{
    return number_of_ident(ident) != 0;
}

uint64_t p_ident_owner(uintptr_t ident)
{
    uint32_t number = number_of_ident(ident);
    uint64_t word = number != 0 && ident == ident_of_number(number)
                        ? __atomic_load_n(word_of_number(number), __ATOMIC_RELAXED)
                        : 0;
    return word & 1 ? word / 2 : 0;
}

void p_idents_after_fork(void)
{
    lock.word = 0;
}
