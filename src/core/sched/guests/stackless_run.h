/* run() of the Stackless API: callers that wait until the run queue is empty; and schedule().  See
 * stackless_run.c.  All of it on the scheduler's own thread. */
#ifndef LOOMLET_SCHED_STACKLESS_RUN_H
#define LOOMLET_SCHED_STACKLESS_RUN_H

#include "sched/types.h"

enum { S_RUN_THREADBLOCK = 1, S_RUN_SOFT = 2, S_RUN_IGNORE_NESTING = 4, S_RUN_TOTAL = 8 };

/* What that API's errors are made by; set once at import. */
typedef struct {
    /* A new exception instance for a code; NULL with an exception set. */
    PyObject *(*error)(int code);
    /* The program's error handler is asked; what is left to raise (new), or NULL. */
    PyObject *(*handled)(s_tasklet *t, PyObject *exception);
} s_stackless_hooks;
extern s_stackless_hooks s_stackless_hook;
/* Of threads to come: s->stackless.pickle_flags. */
extern int s_pickle_flags;

/* Why a caller of run() waits. */
extern const s_wait_kind s_calling_run;

static inline int s_is_run_caller(const s_tasklet *t)
{
    return t->state == S_BLOCKED && t->kind == &s_calling_run;
}

/* Whether the rules of the Stackless API hold for `t`: those of the main tasklet only outside
 * loomlet.run(). */
static inline int s_follows_stackless(const s_sched *s, const s_tasklet *t)
{
    return t->stackless_rules && !(t->is_main && s->running);
}

/* Whether a wait of the calling thread of control must let other tasklets run; `s` is NULL without
 * a scheduler.  If there are only tasklets of the Stackless API, main blocks its thread, as in
 * Stackless: only run() lets others run.  Without other tasklets the wait is the scheduler's where
 * threads are tasklets, because a signal handler may start one; with a virtual clock; and inside a
 * cancel scope, which may end it. */
static inline int s_is_cooperative(const s_sched *s)
{
    if (s == NULL)
        return 0;
    if (b_list_empty(&s->all))
        return s_waits_as_thread(s) || s->virtual_now >= 0 || s->current->scope != NULL;
    return s->natives > 0 || !s->current->is_main || !s_follows_stackless(s, s->current);
}

/* The current tasklet waits until the run queue is empty, or for a budget of safepoints (0: no
 * limit).  Returns None, or the tasklet that was interrupted. */
PyObject *s_run_until_idle(s_sched *s, int64_t budget, int flags, const c_call_site *site,
                           int *code);
/* Whether schedule() lets another tasklet run (s_schedule_with): 1, or S_E_ where nothing may
 * switch. 0: no other is runnable, and it returns at once. */
int s_stackless_may_switch(s_sched *s);
/* Whether that is 1 for sure, without a look at the inbox. */
static inline int s_may_switch_now(s_sched *s)
{
    return !b_list_empty(&s->ready) && s_may_block(s) == S_OK;
}
/* How many tasklets are runnable, the running one included. */
long s_run_count(const s_sched *s);
/* The caller of the effective run() with a budget, or NULL: borrowed. */
s_tasklet *s_run_effective_caller(const s_sched *s);

#endif
