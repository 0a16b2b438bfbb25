/* C stacks cut from large reserved regions.
 *
 * One region is one kernel mapping for 16 384 stacks: the kernel allows 65 530 mappings in all, so
 * a guard page for each stack would limit a process to about 32 000 tasklets.  Overflow is caught
 * by the interpreter's own limits instead, which the cpython room sets to what a stack carries.  A
 * stack is 20 MiB of address space, so that recursion through C goes as deep as on a thread's own
 * stack; only touched pages cost memory.
 *
 * Stacks of one size compete for the same cache lines when all tops share a page offset, so each
 * top is shifted by a few lines ("colour").
 *
 * The free list is shared by all threads under one lock; schedulers keep a few stacks of their own
 * and come here rarely.  A free stack has no pages, not even that of its header: a burst of 60 000
 * of them left 240 MB of headers behind.  So the list is made of entries, which lie in a
 * table at the low end of the region, and an entry knows where the header is.
 */
#include <stdint.h>
#include <string.h>

#include "base/b_check.h"
#include "plat/plat.h"

#define REGION_SIZE (P_STACK_SIZE << 14)
#define REGION_LEAST (P_STACK_SIZE * 16)
#define COLOURS 16

struct p_stack_entry {
    p_stack_entry *next; /* in the free list */
    p_stack *stack;
    char *low;
};

static p_lock lock;
static p_stack_entry *free_list, *fresh_entry;
static char *region_at, *region_end;
static unsigned colour;
static long live, made;

long p_stacks_live(void)
{
    return __atomic_load_n(&live, __ATOMIC_RELAXED);
}

long p_stacks_made(void)
{
    return __atomic_load_n(&made, __ATOMIC_RELAXED);
}

/* Takes the largest region that the limits of this process allow. */
static int reserve_region(void)
{
    for (size_t size = REGION_SIZE; size >= REGION_LEAST; size /= 4) {
        char *at = p_reserve(size);
        if (at == NULL)
            continue;
        fresh_entry = (p_stack_entry *)at;
        region_at = at + P_STACK_SIZE;
        region_end = at + size;
        return 0;
    }
    return -1;
}

static p_stack_entry *carve_stack(void)
{
    if (region_end - region_at < (ptrdiff_t)P_STACK_SIZE && reserve_region() < 0)
        return NULL;
    p_stack_entry *entry = fresh_entry++;
    size_t shift = 64 * (1 + colour++ % COLOURS);
    uintptr_t top = (uintptr_t)region_at + P_STACK_SIZE - sizeof(p_stack) - shift;
    entry->stack = (p_stack *)(top & ~(uintptr_t)63);
    entry->low = region_at;
    region_at += P_STACK_SIZE;
    made++;
    return entry;
}

static p_stack *init_stack(p_stack_entry *entry)
{
    p_stack *stack = entry->stack;
    memset(stack, 0, sizeof(*stack));
    stack->entry = entry;
    stack->low = entry->low;
    stack->size = (size_t)((char *)stack - entry->low);
    return stack;
}

p_stack *p_stack_new(void)
{
    p_lock_take(&lock);
    p_stack_entry *entry = free_list;
    if (entry != NULL)
        free_list = entry->next;
    else
        entry = carve_stack();
    if (entry != NULL)
        live++;
    p_lock_give(&lock);
    return entry != NULL ? init_stack(entry) : NULL;
}

void p_stack_free(p_stack *stack)
{
    p_stack_entry *entry = stack->entry;
    p_release_pages(entry->low, P_STACK_SIZE);
    p_lock_take(&lock);
    entry->next = free_list;
    free_list = entry;
    live--;
    p_lock_give(&lock);
}

void p_stacks_after_fork(void)
{
    lock.word = 0;
}
