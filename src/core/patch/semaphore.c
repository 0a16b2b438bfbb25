/* The semaphores of multiprocessing: _multiprocessing.SemLock.
 *
 * All of multiprocessing.Lock, RLock, Semaphore, Condition, Event, Barrier, Queue and Pool is made
 * of them.  The original acquire() waits in C, with the whole thread: when another tasklet of that
 * thread holds the semaphore, for ever.  Here a tasklet calls the original acquire(False), and
 * while that fails waits in a queue of this process (sync/semaphore_queue.h), which says when to
 * try again.  The original release() is followed by a signal to that queue.
 *
 * Invariants.
 * - Only the original functions touch the semaphore, so other processes, and threads that wait
 *   inside it, notice nothing.
 * - A tasklet has the semaphore exactly when its own acquire(False) has returned True.  Nothing is
 *   ever taken for another, so what ends a wait (a kill, a throw, a time limit, a signal) loses
 *   nothing.
 * - A tasklet that comes while others wait goes behind them.  acquire(False) tries at once.
 *
 * Owners.  An object keeps its owner and a count in its process; the original compares the owner
 * with the thread's ident.  The owner is y_owner_ident() here, as for threading.RLock: that of a
 * main tasklet is the thread's ident, that of any other an odd number.  To release a recursive one
 * by the original, a tasklet lends it to its thread for that call, in which nothing else of the
 * thread runs.  While a main tasklet holds one, the original must not be asked by another tasklet
 * of that thread: it would count up.  That tasklet finds it busy without asking.
 *
 * Threads.  One without tasklets, a main tasklet that is alone, and code that must not wait here
 * (callbacks of the scheduler, trace functions) call the original, which blocks as before.  Only a
 * semaphore that another tasklet of the thread owns is always waited for by the tasklet, or refused
 * with SwitchTrapped.
 *
 * Fork.  Counts are reset by multiprocessing itself (_after_fork), as before.
 *
 * After uninstall() the functions stay ours, because a tasklet may own a semaphore; but new waits
 * are the original's.
 *
 * Rejected: a table of owners beside the objects, which must know when an object dies; a replaced
 * class, which misses semaphores that exist.
 */
#include "cpython/semlock.h"
#include "patch/patch.h"
#include "sched/carrier.h"
#include "sync/builtin_lock.h"
#include "sync/semaphore_queue.h"

patch_semaphore_methods patch_semaphore_originals;

/* Whether another tasklet of this thread owns a recursive one as its thread: the main tasklet. */
static int is_owned_by_main(PyObject *semlock, unsigned long long ident)
{
    unsigned long long thread = s_home_ident();
    return ident != thread && c_semlock_is_recursive(semlock) && c_semlock_owner(semlock) == thread;
}

/* The original's answer; what it has taken is `ident`'s. */
static PyObject *acquire_by_original(const patch_semaphore_call *call, unsigned long long ident)
{
    patch_keyword_call original =
        (patch_keyword_call)(void (*)(void))patch_semaphore_originals.acquire;
    s_leave_operation();
    PyObject *done = original(call->semlock, call->args, call->nargs, call->kwnames);
    if (done == Py_True && ident != PyThread_get_thread_ident())
        c_semlock_set_owner(call->semlock, ident);
    return done;
}

/* 1, 0 when it is busy, or -1. */
static int try_semaphore(PyObject *semlock, unsigned long long ident)
{
    PyObject *const args[] = {Py_False};
    const patch_semaphore_call call = {.semlock = semlock, .args = args, .nargs = 1};
    if (is_owned_by_main(semlock, ident))
        return 0;
    PyObject *done = acquire_by_original(&call, ident);
    if (done == NULL)
        return -1;
    Py_DECREF(done);
    return done == Py_True;
}

static int wait_for_turns(s_sched *s, y_semaphore_waiter *w, PyObject *semlock, int64_t until)
{
    unsigned long long ident = y_owner_ident(s);
    for (int looks = 0;;) {
        int late = s_now(s) >= until;
        int taken = looks || y_semaphore_is_first(w) ? try_semaphore(semlock, ident) : 0;
        if (taken != 0 || late)
            return taken;
        looks = y_semaphore_sleep(w, until);
        if (looks < 0) {
            patch_raise(s, looks);
            return -1;
        }
    }
}

static PyObject *wait_for_semaphore(s_sched *s, PyObject *semlock, int64_t timeout)
{
    if (patch_may_block(s) < 0)
        return NULL;
    int64_t until = patch_deadline(s, timeout);
    y_semaphore_waiter *w = y_semaphore_join(s, c_semlock_handle(semlock), semlock);
    if (w == NULL)
        return PyErr_NoMemory();
    int taken = wait_for_turns(s, w, semlock, until);
    PyObject *pending = PyErr_GetRaisedException();
    y_semaphore_leave(w);
    PyErr_SetRaisedException(pending);
    return taken < 0 ? NULL : PyBool_FromLong(taken);
}

/* The scheduler by which the caller waits for it; NULL: the original does it. */
static s_sched *scheduler_for_wait(s_sched *s, PyObject *semlock)
{
    if (is_owned_by_main(semlock, y_owner_ident(s)))
        return s;
    return patch_semaphore_originals.cooperative ? patch_scheduler() : NULL;
}

PyObject *patch_semaphore_acquire(s_sched *s, const patch_semaphore_call *call, int64_t timeout)
{
    PyObject *semlock = call->semlock;
    unsigned long long ident = y_owner_ident(s);
    if (c_semlock_is_recursive(semlock) && c_semlock_take_again(semlock, ident))
        Py_RETURN_TRUE;
    s_sched *waits = scheduler_for_wait(s, semlock);
    if (waits == NULL)
        return acquire_by_original(call, ident);
    if (timeout == 0 || !y_semaphore_has_waiters(c_semlock_handle(semlock))) {
        int taken = try_semaphore(semlock, ident);
        if (taken != 0 || timeout == 0)
            return taken < 0 ? NULL : PyBool_FromLong(taken);
    }
    return wait_for_semaphore(waits, semlock, timeout);
}

/* release() of a recursive one by its owner, through the thread. */
static PyObject *release_recursive(PyObject *semlock, unsigned long long ident)
{
    unsigned long long thread = PyThread_get_thread_ident();
    if (c_semlock_owner(semlock) != ident) {
        PyErr_SetString(PyExc_AssertionError,
                        "attempt to release recursive lock not owned by thread");
        return NULL;
    }
    c_semlock_set_owner(semlock, thread);
    PyObject *done = patch_semaphore_originals.release(semlock, NULL);
    if (c_semlock_owner(semlock) == thread)
        c_semlock_set_owner(semlock, ident);
    return done;
}

PyObject *patch_semaphore_release(s_sched *s, PyObject *semlock)
{
    const void *handle = c_semlock_handle(semlock);
    PyObject *done = c_semlock_is_recursive(semlock)
                         ? release_recursive(semlock, y_owner_ident(s))
                         : patch_semaphore_originals.release(semlock, NULL);
    if (done != NULL)
        y_semaphore_released(s, handle);
    return done;
}

int patch_semaphore_is_owned(s_sched *s, PyObject *semlock)
{
    return c_semlock_owner(semlock) == y_owner_ident(s);
}
