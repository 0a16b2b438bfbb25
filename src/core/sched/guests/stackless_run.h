/* run() of the Stackless face: callers that wait until the run queue is empty.
 * See stackless_run.c.  All of it on the scheduler's own thread. */
#ifndef LOOMLET_WATCHDOG_H
#define LOOMLET_WATCHDOG_H

#include "sched/sched.h"

enum { S_RUN_THREADBLOCK = 1, S_RUN_SOFT = 2, S_RUN_IGNORE_NESTING = 4, S_RUN_TOTAL = 8 };

/* Why a caller of run() waits; one that has paused itself by the native face. */
extern const s_wait_kind s_calling_run, s_pausing;

static inline int s_is_run_caller(const s_tasklet *t)
{
    return t->state == S_BLOCKED && t->kind == &s_calling_run;
}

/* Whether the rules of the Stackless face hold for `t`: those of the main tasklet
 * only outside loomlet.run(). */
static inline int s_follows_stackless(const s_sched *s, const s_tasklet *t)
{
    return t->stackless && !(t->is_main && s->running);
}

/* Whether a wait of the calling thread of control must let other tasklets run; `s` is NULL without
 * a scheduler.  If there are only tasklets of the Stackless API, main blocks its thread, as in
 * Stackless: only run() lets others run.  Without other tasklets the wait is the scheduler's with a
 * virtual clock, and inside a cancel scope, which may end it. */
static inline int s_is_cooperative(const s_sched *s)
{
    if (s == NULL)
        return 0;
    if (b_list_empty(&s->all))
        return s->virtual_now >= 0 || s->current->scope != NULL;
    return s->natives > 0 || !s->current->is_main || !s_follows_stackless(s, s->current);
}

/* The current tasklet waits until the run queue is empty, or for `ticks` (0: no limit).
 * Returns None, or the tasklet that was interrupted. */
PyObject *s_run_until_idle(s_sched *s, int64_t ticks, int flags, const c_call_site *site,
                           int *code);
/* How many tasklets are runnable, the running one included. */
long s_run_count(const s_sched *s);
/* Nothing is ready: 1 when a tasklet that waits for just that was made ready. */
int s_run_wake_caller(s_sched *s);
/* Nothing will ever be ready: 1 when somebody was told by the rules of Stackless. */
int s_run_deadlock(s_sched *s);
/* The ticks ran out where the current tasklet may be interrupted.  Returns when it goes on:
 * 0, or -1 with the exception that was thrown into it. */
int s_run_expired(s_sched *s, const c_call_site *check);
/* A soft run() has expired: its caller, to be run now (owned), or NULL. */
s_tasklet *s_run_overdue(s_sched *s);
/* Whether the effective run() interrupts inside C callers too. */
int s_run_ignores_nesting(const s_sched *s);
/* The caller of the effective run() with a timeout, or NULL: borrowed. */
s_tasklet *s_run_effective_caller(const s_sched *s);
/* The Stackless tasklet `t`, the current one, dies of `failure` and nobody joins it. */
void s_run_failed(s_sched *s, s_tasklet *t, PyObject *failure);

#endif
