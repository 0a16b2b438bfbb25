/* Waiting until a thing that others fill has got something: the contract.
 *
 * For things of the interpreter that know no tasklets.  Who waits looks first by itself, then
 * waits here, and looks again when it is woken: another one may have been faster.
 *
 * Lost wake-ups.  A waiter takes a number before it looks, and does not begin to wait when there
 * was news of anything since.  Who is woken and cannot look, because it is told to raise, wakes
 * the next.
 *
 * Threads.  Any attached thread; `guard` (without a GIL) covers the table.  No Python code runs
 * under it, so news may come from anywhere: a finalizer, a signal handler, the collector.
 */
#ifndef LOOMLET_NOTIFY_QUEUE_H
#define LOOMLET_NOTIFY_QUEUE_H

#include "sched/sched.h"

/* A number to be taken before looking. */
uint64_t y_notify_ticket(void);
/* Waits for news of `object` since then: Py_True, look again; Py_False at `until`; or NULL with
 * *code.  Always hard. */
PyObject *y_notify_wait(s_sched *s, PyObject *object, uint64_t seen, int64_t until, int *code);
/* `object` has got something: wakes the first that waits for it. */
void y_notify_one(s_sched *s, PyObject *object);
void y_notify_after_fork(const s_sched *s);

#endif
