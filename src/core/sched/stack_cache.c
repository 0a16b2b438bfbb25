/* Spare C stacks of a scheduler.
 *
 * Two tasklets that switch hard by turns need a stack each, over and over; so a scheduler keeps
 * those that are free.  Half of what it has not needed for a while goes back to the pool of all
 * threads, and its pages to the system.
 */
#include "sched/internal.h"

#define SPARES 16
#define PERIOD 16 /* coarse milliseconds */

p_stack *s_stack_take(s_sched *s)
{
    p_stack *stack = s->spare;
    if (B_LIKELY(stack != NULL)) {
        s->spare = stack->next;
        if (--s->spares < s->spares_idle)
            s->spares_idle = s->spares;
        return stack;
    }
    stack = c_out_of_memory() ? NULL : p_stack_new();
    if (stack != NULL && stack->limits[0] == 0)
        c_stack_limits_init(s->ts, stack);
    return stack;
}

/* May be called while still running on the stack: it is reused by this thread only. */
void s_stack_give(s_sched *s, p_stack *stack)
{
    stack->next = s->spare;
    s->spare = stack;
    s->spares++;
}

void s_free_spare_stacks(s_sched *s)
{
    while (s->spare != NULL) {
        p_stack *stack = s->spare;
        s->spare = stack->next;
        p_stack_free(stack);
    }
    s->spares = s->spares_idle = 0;
}

long s_spare_stacks(void)
{
    long count = 0;
    for (const s_sched *s = s_first_scheduler(); s != NULL; s = s->next)
        count += __atomic_load_n(&s->spares, __ATOMIC_RELAXED);
    return count;
}

/* Half of those that were not needed for a while; a few stay.  A stack that is needed again at once
 * would cost two system calls and page faults each time. */
void s_stacks_trim(s_sched *s)
{
    if (s->spares <= SPARES || s->coarse_now - s->trimmed < PERIOD)
        return;
    for (int excess = (s->spares_idle - SPARES + 1) / 2; excess > 0; excess--) {
        p_stack *stack = s->spare->next;
        s->spare->next = stack->next;
        s->spares--;
        p_stack_free(stack);
    }
    s->spares_idle = s->spares;
    s->trimmed = s->coarse_now;
}
