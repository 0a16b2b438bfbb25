/* Releasing builtin locks, by any tasklet or thread, and waits of threads without tasklets.
 *
 * The lock itself is the only truth about whether it is held.  An RLock's owner is a word that
 * CPython compares with the thread's ident; ours says which tasklet.  To release through the
 * interpreter's own function, which checks for the thread, a tasklet lends the lock to its thread
 * for that call: nothing else of the thread runs meanwhile, and another thread takes the lock only
 * when it is free.
 *
 * _at_fork_reinit() frees a lock in the child of a fork, because the threads that held it are gone.
 * The tasklets of the thread that forked are not: an RLock that one of them holds stays held, but
 * for the one that forks.
 */
#include "sched/guests/thread_identity.h"
#include "sync/builtin_lock_queue.h"

#include "cpython/builtin_lock.h"

unsigned long long y_owner_ident(const s_sched *s)
{
    return s != NULL ? y_ident_of(s->current) : PyThread_get_thread_ident();
}

/* ---- releasing -------------------------------------------------------------------- */

static int lend_to_thread(PyObject *rlock, unsigned long long ident)
{
    unsigned long long thread = PyThread_get_thread_ident();
    if (c_builtin_rlock_owner(rlock) != ident)
        return 0;
    c_builtin_rlock_set_owner(rlock, thread);
    return 1;
}

int y_builtin_lock_lend(s_sched *s, PyObject *rlock)
{
    return lend_to_thread(rlock, y_owner_ident(s));
}

static PyObject *release_rlock(PyObject *rlock, unsigned long long ident)
{
    if (!lend_to_thread(rlock, ident)) {
        PyErr_SetString(PyExc_RuntimeError, "cannot release un-acquired lock");
        return NULL;
    }
    int last = c_builtin_rlock_count(rlock) == 1;
    PyObject *done = c_builtin_lock_release(rlock);
    if (!last)
        c_builtin_rlock_set_owner(rlock, ident);
    return done;
}

PyObject *y_builtin_lock_release_for(s_sched *s, PyObject *lock, unsigned long long ident)
{
    PyObject *done = c_builtin_lock_is_recursive(lock) ? release_rlock(lock, ident)
                                                       : c_builtin_lock_release(lock);
    if (done != NULL)
        y_builtin_lock_released(s, lock);
    return done;
}

PyObject *y_builtin_lock_release(s_sched *s, PyObject *lock)
{
    return y_builtin_lock_release_for(s, lock, y_owner_ident(s));
}

/* Whether a tasklet of this thread, but not the running one, has that ident: it lives on in the
 * child of a fork. */
static int is_other_tasklet(s_sched *s, unsigned long long ident)
{
    int found = 0;
    if (s == NULL || ident == 0 || ident == y_owner_ident(s))
        return 0;
    if (ident == s->thread_id)
        return 1;
    c_lock_take(&s->all_lock);
    for (b_link *at = s->all.next; at != &s->all && !found; at = at->next)
        found = s_identity_number(B_CONTAINER(at, s_tasklet, all)) == ident;
    c_lock_give(&s->all_lock);
    return found;
}

PyObject *y_builtin_lock_reinit(s_sched *s, PyObject *lock, PyCFunction original)
{
    unsigned long long owner = c_builtin_lock_is_recursive(lock) ? c_builtin_rlock_owner(lock) : 0;
    size_t count = owner != 0 ? c_builtin_rlock_count(lock) : 0;
    y_builtin_queue_check_fork(s);
    PyObject *done = original(lock, NULL);
    if (done == NULL)
        return NULL;
    if (!is_other_tasklet(s, owner))
        y_builtin_lock_released(s, lock);
    else if (y_builtin_lock_take_free(lock, owner, count) < 0)
        Py_CLEAR(done);
    return done;
}

/* ---- threads without tasklets ----------------------------------------------------------
 *
 * And a main tasklet that is alone.  Its ident is that of the thread that began its scheduler,
 * which is another one while the scheduler is handed over, and is gone in the child of a fork made
 * there.
 */

PyObject *y_builtin_lock_wait_as_thread(PyObject *lock, unsigned long long ident, PyObject *args,
                                        PyObject *kwargs)
{
    int counted = y_builtin_queue_add_thread(lock);
    PyObject *done = c_builtin_lock_acquire(lock, args, kwargs);
    PyObject *pending = PyErr_GetRaisedException();
    if (done == Py_True && c_builtin_lock_is_recursive(lock))
        c_builtin_rlock_set_owner(lock, ident);
    else if (done == Py_True)
        y_builtin_lock_set_holder(lock, ident);
    if (counted)
        y_builtin_queue_remove_thread(lock);
    y_builtin_lock_released(s_self_here(), lock); /* it may be a tasklet's turn */
    PyErr_SetRaisedException(pending);
    return done;
}

PyObject *y_builtin_lock_acquire_as_thread(s_sched *s, PyObject *lock, int64_t timeout,
                                           PyObject *args, PyObject *kwargs)
{
    unsigned long long ident = y_owner_ident(s);
    int taken = y_builtin_lock_take(lock, ident, 1);
    if (taken < 0)
        return NULL;
    if (taken || timeout == 0)
        return PyBool_FromLong(taken);
    return y_builtin_lock_wait_as_thread(lock, ident, args, kwargs);
}

PyObject *y_builtin_lock_restore_as_thread(s_sched *s, PyObject *rlock, size_t count,
                                           PyCFunction original, PyObject *args)
{
    unsigned long long ident = y_owner_ident(s);
    if (y_builtin_lock_take(rlock, ident, count) == 1)
        Py_RETURN_NONE;
    int counted = y_builtin_queue_add_thread(rlock);
    PyObject *done = original(rlock, args);
    if (done != NULL)
        c_builtin_rlock_set_owner(rlock, ident);
    if (counted)
        y_builtin_queue_remove_thread(rlock);
    y_builtin_lock_released(s_self_here(), rlock); /* it may be a tasklet's turn */
    return done;
}
