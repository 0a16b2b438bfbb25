/* What the files of builtin locks share: builtin_lock.c, builtin_lock_queue.c and
 * builtin_lock_wait.c. */
#ifndef LOOMLET_BUILTIN_LOCK_QUEUE_H
#define LOOMLET_BUILTIN_LOCK_QUEUE_H

#include "sync/builtin_lock.h"

/* By which a tasklet owns RLocks: y_owner_ident() while it is the current one. */
unsigned long long y_ident_of(const s_tasklet *t);
/* Takes the lock for `ident` if it is free, or its own: 1, 0, or -1 with an exception. */
int y_builtin_lock_take(PyObject *lock, unsigned long long ident, size_t count);
/* The same for a lock that is not its own. */
int y_builtin_lock_take_free(PyObject *lock, unsigned long long ident, size_t count);
/* Who took a held plain lock last, by ident; 0: not known.  Read as plain memory (dumps). */
unsigned long long y_builtin_lock_holder(const PyObject *lock);
void y_builtin_lock_set_holder(const PyObject *lock, unsigned long long ident);
/* release() by the one with that ident. */
PyObject *y_builtin_lock_release_for(s_sched *s, PyObject *lock, unsigned long long ident);
/* The interpreter's acquire(), for `ident`; the OS thread is counted as a waiter meanwhile. */
PyObject *y_builtin_lock_wait_as_thread(PyObject *lock, unsigned long long ident, PyObject *args,
                                        PyObject *kwargs);

/* Queues the current tasklet (0), unless the lock can be taken now (1); or S_E_.  Its `on` is the
 * lock then. */
int y_builtin_queue_join(s_tasklet *me, PyObject *lock, const s_wait_kind *kind);
/* Removes a waiting tasklet: 1, or 0 when the lock was handed to it first. */
int y_builtin_queue_leave(s_tasklet *t);
/* An OS thread begins to wait inside the lock: 1, or 0 without memory; and no longer waits. */
int y_builtin_queue_add_thread(PyObject *lock);
void y_builtin_queue_remove_thread(PyObject *lock);
/* Must come before a lock is freed in what may be the child of a fork. */
void y_builtin_queue_check_fork(s_sched *s);

#endif
