/* What the monitor thread notes of a tasklet that does not stop: see stall.h. */
#include "sched/guests/stall.h"

s_stall_hooks s_stall_hook;

void s_stall_note(s_stall *stall, const s_sched *s, const s_tasklet *t, int64_t since, int64_t now)
{
    int64_t none = 0;
    if (__atomic_compare_exchange_n(&stall->began, &none, since, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        stall->report_at = s_stall_hook.report_time ? s_stall_hook.report_time(since) : S_FOREVER;
    stall->s = s;
    stall->running = t;
    stall->is_due = now >= stall->report_at;
}
