/* Preemption: time slices, safepoint budgets, late service.  See preempt.c.
 *
 * On the scheduler's own thread, but for the monitor thread itself. */
#ifndef LOOMLET_SCHED_PREEMPT_H
#define LOOMLET_SCHED_PREEMPT_H

#include "sched/sched.h"

/* What preemption asks of the rooms above it; NULL: nothing. */
typedef struct {
    /* Before time slices begin, again and again: 0, or -1 with an exception. */
    int (*before_slices)(void);
    /* One call of C held the scheduler that long; runs as that tasklet, after the call. */
    void (*stalled)(s_tasklet *t, int64_t nanoseconds, int others_wait);
    /* No thread could be started for a handoff, for the first time. */
    void (*thread_refused)(void);
} s_preempt_hooks;
extern s_preempt_hooks s_preempt_hook;

/* Before a tasklet is interrupted for the first time: 0, or -1 with an exception. */
static inline int s_slices_prepare(void)
{
    return s_preempt_hook.before_slices != NULL ? s_preempt_hook.before_slices() : 0;
}
/* Time slices: from now on a tasklet that has run for a slice while another one is
 * ready goes to the tail.  0, S_E_MEMORY. */
int s_slices_begin(s_sched *s, int64_t nanoseconds);
void s_slices_end(s_sched *s);
/* Whether they are on. */
int s_has_slices(const s_sched *s);
/* The same, but a slice is a number of safepoints, the same at each run.  For tests. */
int s_slices_counted(s_sched *s, int64_t safepoints);

/* How long the last requests waited for their service, in ns, and forgets them: for the
 * bench.  `delays` has S_DELAYS places; returns how many are filled. */
#define S_DELAYS 1024
int s_slices_delays(s_sched *s, int64_t *delays);

/* How many safepoints tasklets may pass, for run() of the Stackless API. */
typedef struct {
    int64_t safepoints; /* 0: there is no budget */
    int total;          /* counted of all tasklets together, else of one that does not switch */
    int ignore_nesting; /* it may expire inside C callers too */
    /* It is used up, at a safepoint where the current tasklet may be interrupted.  Returns when the
     * tasklet runs again: 0, or -1 with the exception that was thrown into it. */
    int (*expire)(s_sched *s, const c_call_site *safepoint);
} s_budget;
/* 0, S_E_MEMORY. */
int s_budget_begin(s_sched *s, const s_budget *budget);
void s_budget_end(s_sched *s);

/* What kept the current tasklet from being interrupted is over: what was withheld happens at the
 * next safepoint. */
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

/* How long one call of C may hold a scheduler before `stalled` is called. */
extern int64_t s_stall_after;

/* At interpreter exit: the monitor thread ends, and no new one begins. */
void s_slices_stop(void);
/* In the child of a fork. */
void s_slices_after_fork(void);

#endif
