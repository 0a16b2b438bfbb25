/* What tasklets and OS threads alike wait for: lock, event, semaphore, condition.
 *
 * Each is a gate (gate.h): something to pass, and a queue of those that cannot yet.  `guard`
 * (without a GIL) covers all fields.
 *
 *   lock       One bit.  Release hands it over: with waiters it stays held, and the first of them
 *              resumes as its holder.
 *   event      One bit that is set until it is cleared; all waiters pass when it is set.
 *   semaphore  A count of permits.  Release hands them over; with waiters the count is 0.
 *   condition  Nothing to pass: its waiters have released a lock, and wait for that again when they
 *              are notified.
 *
 * A wait gives True, or False when its time is over.  A tasklet that was handed a lock or a permit
 * and raises instead of taking it passes it on.
 */
#ifndef LOOMLET_SYNC_H
#define LOOMLET_SYNC_H

#include "sched/sched.h"

typedef struct y_gate {
    PyObject_HEAD
    PyObject *weakrefs;
    b_link waiters; /* of s_wait */
    c_lock guard;
} y_gate;

void y_gate_init(y_gate *gate);
int y_gate_visit(y_gate *gate, visitproc visit, void *arg);
void y_gate_clear(y_gate *gate);

/* Below, `until` is S_FOREVER for no limit; with s_now or less nothing waits.  A function that
 * waits returns Py_True, Py_False when the time is over, or NULL with *code: S_E_TIMEOUT if it
 * would have to wait and must not.  One that ends in _as is for a paused tasklet of this thread,
 * from a snapshot: 0 or S_E_. */

/* ---- lock.c ------------------------------------------------------------------------- */

typedef struct {
    y_gate gate;
    char held;
    uint64_t holder; /* the id of the tasklet that took it last */
} y_lock;

PyObject *y_lock_acquire(s_sched *s, y_lock *lock, int64_t until, const c_call_site *site,
                         int *code);
int y_lock_acquire_as(s_sched *s, s_tasklet *t, y_lock *lock, int64_t until);
/* From a snapshot: a tasklet becomes the holder of a free lock.  S_E_SNAPSHOT if it is held. */
int y_lock_restore(y_lock *lock, const s_tasklet *holder);
/* S_E_FREE if it is not held. */
int y_lock_release(s_sched *s, y_lock *lock);

/* ---- event.c ------------------------------------------------------------------------ */

typedef struct {
    y_gate gate;
    char is_set;
} y_event;

PyObject *y_event_wait(s_sched *s, y_event *event, int64_t until, const c_call_site *site,
                       int *code);
int y_event_wait_as(s_sched *s, s_tasklet *t, y_event *event, int64_t until);
void y_event_set(s_sched *s, y_event *event);
void y_event_clear(y_event *event);

/* ---- semaphore.c -------------------------------------------------------------------- */

typedef struct {
    y_gate gate;
    Py_ssize_t count;
    Py_ssize_t most; /* it cannot have more permits than this */
} y_semaphore;

PyObject *y_semaphore_acquire(s_sched *s, y_semaphore *semaphore, int64_t until,
                              const c_call_site *site, int *code);
int y_semaphore_acquire_as(s_sched *s, s_tasklet *t, y_semaphore *semaphore, int64_t until);
/* S_E_FULL, and nothing is released, if there would be more permits than `most`. */
int y_semaphore_release(s_sched *s, y_semaphore *semaphore, Py_ssize_t permits);

/* ---- condition.c -------------------------------------------------------------------- */

typedef struct {
    y_gate gate;  /* its queue; the guard of the lock covers it */
    y_lock *lock; /* owned, until the end */
} y_condition;

int y_condition_is_held(const y_condition *condition, const s_tasklet *t);
/* True with the lock held; False without it when the time is over.  S_E_NOT_HELD unless the current
 * tasklet holds the lock. */
PyObject *y_condition_wait(s_sched *s, y_condition *condition, int64_t until,
                           const c_call_site *site, int *code);
/* `called`: it was notified, and waits for the lock. */
int y_condition_wait_as(s_sched *s, s_tasklet *t, y_condition *condition, int64_t until,
                        int called);
/* S_E_NOT_HELD unless the current tasklet holds the lock. */
int y_condition_notify(s_sched *s, y_condition *condition, Py_ssize_t count);
Py_ssize_t y_condition_waiters(y_condition *condition);

#endif
