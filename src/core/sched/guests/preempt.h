/* Preemption: time slices and ticks.  See preempt.c.
 *
 * On the scheduler's own thread, but for the watchdog thread itself. */
#ifndef LOOMLET_PREEMPT_H
#define LOOMLET_PREEMPT_H

#include "sched/sched.h"

/* Before a tasklet is interrupted for the first time: 0, or -1 with an exception. */
static inline int s_slices_prepare(void)
{
    return s_hook.before_slices != NULL ? s_hook.before_slices() : 0;
}
/* Time slices: from now on a tasklet that has run for a slice while another one is
 * ready goes to the tail.  0, S_E_MEMORY. */
int s_slices_begin(s_sched *s, int64_t nanoseconds);
void s_slices_end(s_sched *s);
/* The same, but a slice is a number of checks, the same at each run.  For tests. */
int s_slices_counted(s_sched *s, int64_t checks);

/* How long the last requests waited for their service, in ns, and forgets them: for the
 * bench.  `delays` has S_DELAYS places; returns how many are filled. */
#define S_DELAYS 1024
int s_slices_delays(s_sched *s, int64_t *delays);

/* s_run_expired is called when the current tasklet has run for that many checks
 * without a switch, or, with `total`, when all together have.  0, S_E_MEMORY. */
int s_budget_begin(s_sched *s, int64_t ticks, int total);
void s_budget_end(s_sched *s);

/* What kept the current tasklet from being interrupted is over: delivers what was
 * withheld, at the next check. */
void s_deliver_due(s_sched *s);

/* The tasklet enters and leaves a block of nopreempt(). */
static inline void s_nopreempt_enter(s_tasklet *t)
{
    t->nopreempt++;
}

static inline void s_nopreempt_leave(s_sched *s, s_tasklet *t)
{
    if (--t->nopreempt == 0 && t == s->current)
        s_deliver_due(s);
}

/* The scheduler begins or ends to sleep: nothing is to be watched meanwhile. */
void s_slices_sleep(s_sched *s);
void s_slices_wake(s_sched *s);
/* The scheduler's thread ends. */
void s_slices_forget(s_sched *s);

/* How long the core may be held in one call of C before s_hook.stalled is told. */
extern int64_t s_stall_after;

/* At interpreter exit: the watchdog thread ends, and no new one begins. */
void s_slices_stop(void);
void s_slices_before_fork(void);
void s_slices_after_fork(int in_child);

#endif
