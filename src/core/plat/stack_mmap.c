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
 * and come here rarely.
 */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/b_check.h"
#include "plat/plat.h"

#define REGION_SIZE (P_STACK_SIZE << 14)
#define REGION_LEAST (P_STACK_SIZE * 16)
#define COLOURS 16

static p_lock lock;
static p_stack *free_list;
static char *region_at, *region_end;
static unsigned colour;
static long live;

long p_stacks_live(void)
{
    return __atomic_load_n(&live, __ATOMIC_RELAXED);
}

/* Takes the largest region that the limits of this process allow. */
static int reserve_region(void)
{
    for (size_t size = REGION_SIZE; size >= REGION_LEAST; size /= 4) {
        char *at = p_reserve(size);
        if (at == NULL)
            continue;
        region_at = at;
        region_end = at + size;
        return 0;
    }
    return -1;
}

static p_stack *carve_stack(void)
{
    if (region_end - region_at < (ptrdiff_t)P_STACK_SIZE && reserve_region() < 0)
        return NULL;
    char *low = region_at;
    region_at += P_STACK_SIZE;
    size_t shift = 64 * (1 + colour++ % COLOURS);
    p_stack *stack = (p_stack *)(low + P_STACK_SIZE - sizeof(p_stack) - shift);
    stack = (p_stack *)((uintptr_t)stack & ~(uintptr_t)63);
    memset(stack, 0, sizeof(*stack));
    stack->low = low;
    stack->size = (size_t)((char *)stack - low);
    return stack;
}

p_stack *p_stack_new(void)
{
    p_lock_take(&lock);
    p_stack *stack = free_list;
    if (stack != NULL)
        free_list = stack->next;
    else
        stack = carve_stack();
    if (stack != NULL)
        live++;
    p_lock_give(&lock);
    return stack;
}

void p_stack_trim(p_stack *stack)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t end = (uintptr_t)stack & ~(page - 1);
    if (end > (uintptr_t)stack->low)
        p_release_pages(stack->low, end - (uintptr_t)stack->low);
}

void p_stack_free(p_stack *stack)
{
    p_lock_take(&lock);
    stack->next = free_list;
    free_list = stack;
    live--;
    p_lock_give(&lock);
}

void p_stacks_after_fork(void)
{
    lock.word = 0;
}
