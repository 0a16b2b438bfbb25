/* What tasklets and OS threads alike wait for: lock, event, semaphore, readers-writer lock,
 * condition, queue.
 *
 * Each is a gate (gate.h): something to pass, and a queue of those that cannot yet.  `guard`
 * (without a GIL) covers all fields.
 *
 *   lock       One bit.  Release hands it over: with waiters it stays held, and the first of them
 *              resumes as its holder.  A reentrant one counts how often its holder has taken it.
 *   event      One bit that is set until it is cleared; all waiters pass when it is set.
 *   semaphore  A count of permits.  Release hands them over; with waiters the count is 0.
 *   rwlock     Many readers, or one writer, in the order in which they come.
 *   condition  Nothing to pass: its waiters have released a lock, and wait for that again when they
 *              are notified.
 *   queue      Items, and two queues of waiters: put() hands its item to the first that waits for
 *              one, get() takes that of the first that waits for room.
 *
 * A wait gives True, or False when its time is over; that of a queue an item or None, or an
 * exception.  A tasklet that was handed a lock, a permit or an item and raises instead of taking it
 * passes it on.
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
    char reentrant;
    uint32_t depth;  /* how often its holder has taken it */
    uint64_t holder; /* the id of the tasklet that took it last */
} y_lock;

PyObject *y_lock_acquire(s_sched *s, y_lock *lock, int64_t until, const c_call_site *site,
                         int *code);
int y_lock_acquire_as(s_sched *s, s_tasklet *t, y_lock *lock, int64_t until);
/* From a snapshot: a tasklet becomes the holder of a free lock, which it has taken so often.
 * S_E_SNAPSHOT if it is held. */
int y_lock_restore(y_lock *lock, const s_tasklet *holder, uint32_t depth);
/* S_E_FREE if it is not held; S_E_FOREIGN if it is reentrant and held by another tasklet. */
int y_lock_release(s_sched *s, y_lock *lock);
/* In the child of a fork: it is free, or goes to a tasklet of this thread that waits for it. */
void y_lock_after_fork(s_sched *s, y_lock *lock);
/* `t` no longer holds it, however often it has taken it; nothing, if it does not hold it. */
void y_lock_abandon(s_sched *s, y_lock *lock, const s_tasklet *t);

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

/* Whether a tasklet that waits for one had taken its lock once: such a wait can be begun anew. */
int y_condition_is_plain(const s_tasklet *t);
int y_condition_is_held(const y_condition *condition, const s_tasklet *t);
/* True, or False when the time is over.  However it ends the tasklet holds the lock, unless it got
 * the error of a deadlock, or no C stack, while it waited for that.  S_E_NOT_HELD unless the
 * current tasklet holds the lock. */
PyObject *y_condition_wait(s_sched *s, y_condition *condition, int64_t until,
                           const c_call_site *site, int *code);
/* How far the wait of a tasklet has come.  It waits for the lock when it was notified, and when its
 * wait has ended in another way. */
enum y_condition_stage { Y_WAITS, Y_NOTIFIED, Y_RETURNS };
enum y_condition_stage y_condition_stage(const s_tasklet *t);
int y_condition_wait_as(s_sched *s, s_tasklet *t, y_condition *condition, int64_t until,
                        enum y_condition_stage stage);
/* S_E_NOT_HELD unless the current tasklet holds the lock. */
int y_condition_notify(s_sched *s, y_condition *condition, Py_ssize_t count);
Py_ssize_t y_condition_waiters(y_condition *condition);

/* ---- rwlock.c ----------------------------------------------------------------------- */

typedef struct {
    y_gate gate;
    Py_ssize_t readers;
    char writes;
    uint64_t writer; /* the id of the tasklet that took it last for writing */
} y_rwlock;

PyObject *y_rwlock_acquire(s_sched *s, y_rwlock *lock, int writes, int64_t until,
                           const c_call_site *site, int *code);
/* S_E_FREE if it is not held for that. */
int y_rwlock_release(s_sched *s, y_rwlock *lock, int writes);
/* It is garbage, and so are those that wait for it. */
void y_rwlock_clear(y_rwlock *lock);

/* ---- queue.c ------------------------------------------------------------------------ */

typedef struct {
    y_gate gate;             /* its queue: those that wait for an item */
    b_link putters, joiners; /* those that wait for room, and until all tasks are done */
    PyObject **items;        /* a ring */
    Py_ssize_t first, count, room;
    Py_ssize_t most;  /* it cannot have more items than this */
    Py_ssize_t tasks; /* how many items were put for which nobody has called task_done() */
    char last_first;  /* the item that was put last is the next one */
    char shut;
} y_queue;

void y_queue_init(y_queue *queue, Py_ssize_t most, int last_first);
int y_queue_visit(y_queue *queue, visitproc visit, void *arg);
void y_queue_clear(y_queue *queue);
/* Nothing refers to it any more. */
void y_queue_free(y_queue *queue);
/* None; S_E_NO_ROOM, S_E_SHUT. */
PyObject *y_queue_put(s_sched *s, y_queue *queue, PyObject *item, int64_t until,
                      const c_call_site *site, int *code);
/* An item; S_E_NO_ITEM, S_E_SHUT. */
PyObject *y_queue_get(s_sched *s, y_queue *queue, int64_t until, const c_call_site *site,
                      int *code);
/* S_E_NO_TASK when all tasks are done already. */
int y_queue_task_done(s_sched *s, y_queue *queue);
/* None when all tasks are done. */
PyObject *y_queue_join(s_sched *s, y_queue *queue, const c_call_site *site, int *code);
/* From now on it may have so many items; those that found no room may put theirs. */
void y_queue_set_most(s_sched *s, y_queue *queue, Py_ssize_t most);
/* From now on nothing can be put; with `at_once` what it has is dropped, and counts as done. */
void y_queue_shut(s_sched *s, y_queue *queue, int at_once);

/* ---- queue_restore.c ----------------------------------------------------------------- */

enum y_queue_part { Y_ITEMS, Y_GETTERS, Y_PUTTERS, Y_JOINERS };

/* How many there are, in their order, as new references in a block that the caller frees with
 * PyMem_RawFree; S_E_MEMORY.  Main tasklets and plain threads are left out. */
Py_ssize_t y_queue_contents(y_queue *queue, enum y_queue_part part, PyObject ***found);
/* An empty queue that nobody else has gets the items of a tuple.  0 or S_E_. */
int y_queue_restore(s_sched *s, y_queue *queue, PyObject *items, Py_ssize_t tasks, int shut);
int y_queue_get_as(s_sched *s, s_tasklet *t, y_queue *queue, int64_t until);
int y_queue_put_as(s_sched *s, s_tasklet *t, y_queue *queue, PyObject *item, int64_t until);
int y_queue_join_as(s_sched *s, s_tasklet *t, y_queue *queue);

#endif
