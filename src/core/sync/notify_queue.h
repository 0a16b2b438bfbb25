/* Notify queues: waiting until an object that other code fills has got something.
 *
 * For objects of the interpreter that know no tasklets.  A waiter looks at the object first, then
 * waits here, and looks again when it is woken: another tasklet may have been faster.
 *
 * Lost wake-ups.  A waiter takes a ticket before it looks, and does not begin to wait if there was
 * a notification for any object since.  A woken waiter that has to raise and cannot look notifies
 * the next one.
 *
 * Threads.  Any attached thread; `guard` (without a GIL) covers the table.  No Python code runs
 * under it, so a notification may come from anywhere: a finalizer, a signal handler, the collector.
 */
#ifndef LOOMLET_NOTIFY_QUEUE_H
#define LOOMLET_NOTIFY_QUEUE_H

#include "sched/sched.h"

/* To be taken before looking. */
uint64_t y_notify_ticket(void);
/* Waits for a notification for `object` since then: Py_True, look again; Py_False at `until`; or
 * NULL with *code.  Always hard. */
PyObject *y_notify_wait(s_sched *s, PyObject *object, uint64_t ticket, int64_t until, int *code);
/* `object` has got something: wakes its first waiter. */
void y_notify_one(s_sched *s, PyObject *object);
void y_notify_after_fork(const s_sched *s);

#endif
