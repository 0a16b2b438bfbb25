/* Since when a tasklet runs or waits: see run_interval.c. */
#ifndef LOOMLET_SCHED_RUN_INTERVAL_H
#define LOOMLET_SCHED_RUN_INTERVAL_H

#include "base/b_check.h"
#include "sched/types.h"

/* An interval of `t` that is long enough to be noted ends at `now`, which is s->coarse_now; returns
 * what t->since shall be. */
uint32_t s_note_interval(s_sched *s, const s_tasklet *t, uint32_t now);
/* The current tasklet stops running.  The load is a plain one, so that the next tasklet's time is
 * not loaded again. */
static B_INLINE void s_end_interval(s_sched *s, s_tasklet *t)
{
    uint32_t now = s->coarse_now;
    if (B_UNLIKELY(now - t->since >= s->notice))
        now = s_note_interval(s, t, now);
    t->since = now;
}

void s_intervals_init(s_sched *s);
/* Around a sleep of the thread. */
void s_intervals_sleep(s_sched *s);
void s_intervals_wake(s_sched *s);
/* The current tasklet continues without having been left. */
void s_interval_continue(s_sched *s, s_tasklet *t);

#endif
