/* The exception that ended a tasklet: failure.c. */
#ifndef LOOMLET_SCHED_FAILURE_H
#define LOOMLET_SCHED_FAILURE_H

#include "sched/types.h"

/* The tasklet ends with `failure` (stolen), as it is now. */
void s_failure_keep(s_tasklet *t, PyObject *failure);
/* What ended `t`, for somebody who raises or reads it: a new reference with the traceback that it
 * had, or NULL for nothing.  Python code may run. */
PyObject *s_failure_take(s_tasklet *t);
/* `t` is about to raise `error`, with which it was woken; `value` came with it.  Python code
 * may run. */
void s_failure_arrives(s_tasklet *t, PyObject *error, PyObject *value);
/* It was delivered or needs no delivery: its frames are let go once nobody handles it.  `s`: the
 * caller's scheduler, or NULL. */
void s_failure_settle(s_sched *s, s_tasklet *t);
/* Before what ended `t` is dropped. */
void s_failure_forget(s_tasklet *t);

enum { S_SETTLED_AT_ONCE = 8 };
/* How many failures wait for being let go. */
extern int s_settled_count;
/* Looks at `most` of them.  Python code may run.  Any attached thread. */
void s_failures_let_go(int most);
/* In the child of a fork. */
void s_failures_after_fork(void);

#endif
