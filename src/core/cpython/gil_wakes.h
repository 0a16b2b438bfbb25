/* When a thread wakes another one that needs the GIL: gil_wakes.c.  For gil.c and gil_turns.c. */
#ifndef LOOMLET_GIL_WAKES_H
#define LOOMLET_GIL_WAKES_H

#include "cpython/gil_turns.h"

#ifndef Py_GIL_DISABLED

/* How many threads wait for it, about; -1: unknown. */
static inline int gil_waiters(const struct _gil_runtime_state *gil)
{
    return p_condition_waiters(&gil->cond);
}

/* The caller has the GIL: wake(what) comes now, or, if it may wait, when the GIL is free. */
void c_wake(struct _gil_runtime_state *gil, int may_wait, void (*wake)(void *what), void *what);
/* The caller is about to leave the GIL, because it has to. */
extern __thread int c_wake_leaving;
static inline void c_wake_leave(void)
{
    c_wake_leaving = 1;
}
/* It has given back the GIL, and holds its mutex, which is free for a moment if it has postponed a
 * wake. */
void c_wake_after_drop(struct _gil_runtime_state *gil);
/* Whether it has given the GIL back for the sake of a wake of its own. */
int c_wake_is_reason(void);
/* Of a thread that was woken from its own processor: lets its waker run, if that is worth it. */
void c_wake_yield(void);
/* The interpreter is about to end, and the caller goes on: nothing of it is postponed. */
void c_wakes_end(void);
/* In the child of a fork. */
void c_wakes_after_fork(void);
/* How many wakes were postponed. */
int64_t c_wakes_postponed(void);

#endif
#endif
