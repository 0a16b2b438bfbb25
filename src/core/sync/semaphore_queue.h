/* The tasklets of this process that wait for semaphores which other processes use too.
 *
 * The semaphore is the system's and alone says whether it is free; nobody hands it over.  A waiter
 * tries for itself, when it is its turn:
 *
 * - A release in this process signals the first waiter of that semaphore, whichever thread it is
 *   of.  One that leaves, for whatever reason, signals the next.  So the order of this process is
 *   first come, first served, and a waiter that is killed loses nothing.
 * - Releases by other processes are seen by nobody: the first waiter of each thread looks again
 *   after a pause that grows to 20 ms.  The others do not, so a thousand waiters cost as much as
 *   one.  That each thread looks, and tries then, matters when the first waiter's thread is busy in
 *   C: no other thread depends on it for ever.
 *
 * Lost signals.  A waiter is in the table before it tries, and a signal that finds it awake is kept
 * for its next sleep.
 *
 * Fork.  In the child the table is empty.  The tasklets that live on there are woken, and enter
 * themselves again, in the old order; those that do not never run.  For that, and because the C
 * stack of an abandoned tasklet goes, a waiter is memory of its own.
 *
 * Threads.  Any attached thread; `guard` (without a GIL) covers the table.  No Python code and no
 * function of the interpreter's runs under it.
 *
 * Rejected: handing over, as builtin locks do it, because the interpreter's own acquire() would be
 * called under the guard, and takes the object's critical section; a thread of ours inside
 * sem_wait(), which takes the semaphore from its tasklet when that is killed; waking all waiters.
 */
#ifndef LOOMLET_SEMAPHORE_QUEUE_H
#define LOOMLET_SEMAPHORE_QUEUE_H

#include "sched/sched.h"

typedef struct y_semaphore_waiter y_semaphore_waiter;

/* Whether a tasklet of this process waits for it. */
int y_semaphore_has_waiters(const void *semaphore);
/* The current tasklet becomes the last waiter; NULL without memory.  `shown` is the object that it
 * is shown to wait for, borrowed. */
y_semaphore_waiter *y_semaphore_join(s_sched *s, const void *semaphore, PyObject *shown);
int y_semaphore_is_first(const y_semaphore_waiter *w);
/* Sleeps until it should look: 0 when signalled, 1 when a pause or `until` is over; or S_E_. */
int y_semaphore_sleep(y_semaphore_waiter *w, int64_t until);
/* Waits no longer: the next one is signalled. */
void y_semaphore_leave(y_semaphore_waiter *w);
/* It was released in this process. */
void y_semaphore_released(s_sched *s, const void *semaphore);
void y_semaphore_after_fork(s_sched *s);

#endif
