/* The scheduler's clock and its timers.
 *
 * The clock is the monotonic one, or a virtual one that stands still and jumps to the next timer
 * when nothing else can run (idle.c): programs then see exact times, and tests need no waiting.
 */
#include "sched/internal.h"

int64_t s_now(s_sched *s)
{
    return s->virtual_now >= 0 ? s->virtual_now : p_now();
}

int64_t s_now_coarse(const s_sched *s)
{
    return s->virtual_now >= 0 ? s->virtual_now : p_now_coarse();
}

int s_timer_arm(s_sched *s, s_timer *timer, int64_t when)
{
    if (c_out_of_memory() || b_heap_push(&s->timers, &timer->node, when) < 0)
        return S_E_MEMORY;
    return S_OK;
}

void s_timer_disarm(s_sched *s, s_timer *timer)
{
    b_heap_remove(&s->timers, &timer->node);
}

void s_timers_fire(s_sched *s)
{
    int64_t now = s_now(s);
    b_timer *first;
    while ((first = b_heap_first(&s->timers)) != NULL && first->when <= now) {
        s_timer *timer = B_CONTAINER(first, s_timer, node);
        b_heap_remove(&s->timers, first);
        timer->fire(s, timer);
    }
}
