/* Locks that serve tasklets and OS threads alike.
 *
 * A lock has one bit and a queue of waiters.  Release hands it over: with waiters the lock stays
 * held and the first waiter resumes as its holder, so no other tasklet overtakes and none is woken
 * in vain.  `guard` (without a GIL) covers both fields.
 */
#ifndef LOOMLET_SYNC_H
#define LOOMLET_SYNC_H

#include "sched/sched.h"

typedef struct y_lock {
    PyObject_HEAD
    PyObject *weakrefs;
    b_link waiters; /* of s_wait */
    char held;
    uint64_t holder; /* the id of the tasklet that took it last */
    c_lock guard;
} y_lock;

void y_lock_init(y_lock *lock);
int y_lock_visit(y_lock *lock, visitproc visit, void *arg);
void y_lock_clear(y_lock *lock);
/* Takes the lock before `until` (S_FOREVER: no limit; s_now or less: without waiting).  Py_True;
 * Py_False when the time is over; NULL with *code, S_E_TIMEOUT if it would have to wait and must
 * not. */
PyObject *y_lock_acquire(s_sched *s, y_lock *lock, int64_t until, const c_call_site *site,
                         int *code);
/* A paused tasklet of this thread takes the lock, or waits for it: 0 or S_E_. */
int y_lock_acquire_as(s_sched *s, s_tasklet *t, y_lock *lock, int64_t until);
/* From a snapshot: a tasklet becomes the holder of a free lock.  S_E_SNAPSHOT if it is held. */
int y_lock_restore(y_lock *lock, const s_tasklet *holder);
/* S_E_FREE if it is not held. */
int y_lock_release(s_sched *s, y_lock *lock);

#endif
