/* Builtin locks for tasklets: _thread.lock and _thread.RLock, owned per tasklet.
 *
 * The lock stays the interpreter's: it alone says whether it is held, and an OS thread without
 * tasklets waits inside it as before.  Tasklets wait in a table beside the locks, keyed by their
 * address, with a queue for each lock that has waiters.  A release looks there, takes the lock
 * again for the first tasklet and wakes it.  So tasklets are served first come, first served, and
 * none is woken in vain.  If OS threads wait too, every other release leaves the lock to them.
 *
 * Identity.  An RLock is owned by y_owner_ident().  For the main tasklet and for threads without
 * tasklets that is the thread's ident, as in CPython, so locks that were taken before the methods
 * were replaced stay owned.  For any other tasklet it is an odd number made of its id; thread
 * idents are addresses, so they are even.
 *
 * Lost wake-ups.  A waiter makes its entry visible, then tries the lock once more; a release frees
 * the lock, then looks for an entry: both sequentially consistent.
 *
 * Threads.  Any attached thread; `guard` (without a GIL) covers the table.  No Python code runs
 * under it.
 *
 * Rejected: replacing the classes, which misses locks that exist and every module that has imported
 * the names before; a queue inside the lock, for which its structure has no room; waking the
 * waiters to try for themselves, which wakes in vain and lets others overtake.
 */
#ifndef LOOMLET_SYNC_BUILTIN_LOCK_H
#define LOOMLET_SYNC_BUILTIN_LOCK_H

#include "sched/sched.h"

/* By which the calling thread of control owns RLocks; `s` may be NULL. */
unsigned long long y_owner_ident(const s_sched *s);

/* acquire(): `timeout` in nanoseconds, 0 without waiting, S_FOREVER.  Py_True, Py_False,
 * or NULL with *code.  `site`: the call, where it may be left softly; or NULL. */
PyObject *y_builtin_lock_acquire(s_sched *s, PyObject *lock, int64_t timeout,
                                 const c_call_site *site, int *code);
/* The same for a thread that has no tasklets to run, or no scheduler (NULL); `args` and `kwargs`
 * are those of acquire(). */
PyObject *y_builtin_lock_acquire_as_thread(s_sched *s, PyObject *lock, int64_t timeout,
                                           PyObject *args, PyObject *kwargs);
/* Takes an RLock `count` times, without being interrupted: 1, or NULL with *code. */
PyObject *y_builtin_lock_restore(s_sched *s, PyObject *rlock, size_t count, int *code);
/* The same for a thread that has no tasklets to run, which waits by calling `original`. */
PyObject *y_builtin_lock_restore_as_thread(s_sched *s, PyObject *rlock, size_t count,
                                           PyCFunction original, PyObject *args);
/* release(): None, or NULL with an exception. */
PyObject *y_builtin_lock_release(s_sched *s, PyObject *lock);
/* Lends the RLock to the thread, so that CPython sees the owner that it expects: 1; 0 when the
 * caller does not own it. */
int y_builtin_lock_lend(s_sched *s, PyObject *rlock);
/* The lock may be free: hands it over if a tasklet waits. */
void y_builtin_lock_released(s_sched *s, PyObject *lock);
/* The code whose acquire() must not be interrupted (borrowed for ever). */
void y_builtin_lock_uninterruptible(PyObject *code);
/* _at_fork_reinit(): None, or NULL with an exception. */
PyObject *y_builtin_lock_reinit(s_sched *s, PyObject *lock, PyCFunction original);
void y_builtin_lock_after_fork(s_sched *s);

#endif
