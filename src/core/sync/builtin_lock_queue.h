/* What the files of stock locks share: builtin_lock.c, builtin_lock_queue.c, builtin_lock_wait.c.
 */
#ifndef LOOMLET_BUILTIN_LOCK_QUEUE_H
#define LOOMLET_BUILTIN_LOCK_QUEUE_H

#include "sync/builtin_lock.h"

typedef struct y_builtin_queue y_builtin_queue;

/* What one tasklet waits for: on the C stack of its acquire(); its `on` points here. */
typedef struct {
    PyObject *lock;
    y_builtin_queue *queue;
    unsigned long long ident; /* whose the lock shall be */
    size_t count;             /* an RLock is taken so often */
    int granted;              /* it has been handed over */
} y_builtin_request;

/* Takes the lock for `ident` if it is free, or its own (builtin_lock.c): 1, 0, -1 with an
 * exception. */
int y_builtin_lock_take(PyObject *lock, unsigned long long ident, size_t count);
/* The same, of a lock that is not its own. */
int y_builtin_lock_take_free(PyObject *lock, unsigned long long ident, size_t count);
/* The interpreter's acquire() of an OS thread that is counted meanwhile. */
PyObject *y_builtin_lock_wait_as_thread(PyObject *lock, PyObject *args, PyObject *kwargs);

/* Queues the current tasklet, unless the lock is to be had now: 1 when it was, 0, or S_E_. */
int y_builtin_queue_join(s_tasklet *me, y_builtin_request *want, const s_wait_kind *kind);
/* Takes a waiting tasklet out: 1, or 0 when the lock was handed to it first. */
int y_builtin_queue_leave(s_tasklet *t);
/* An OS thread begins to wait inside the lock: 0 without memory; and waits no longer. */
int y_builtin_queue_add_thread(PyObject *lock);
void y_builtin_queue_remove_thread(PyObject *lock);
/* Before anything is freed in what may be the child of a fork. */
void y_builtin_queue_check_fork(s_sched *s);

#endif
