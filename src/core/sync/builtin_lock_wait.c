/* A tasklet waits for a builtin lock.
 *
 * Softly, where Python code calls acquire() and takes what it returns.  A release takes the lock in
 * the name of the first waiter; if that raises instead before it has run again, the lock is passed
 * on (`given`).  So nothing of the wait is left to be done in C.
 *
 * Hard are the waits whose end has more to do than to return: those that must not be interrupted,
 * and those for a lock that is released in C.
 *
 * Not to be interrupted.  Taking an RLock back after Condition.wait(), or the lock of a Condition
 * by its own _acquire_restore, must not fail: the code around it releases the lock next.  An
 * exception that comes meanwhile is raised when the lock is held again.  Only one that comes ten
 * times is let through, because that lock will never be released.
 *
 * Inside a callback of the scheduler nothing of this thread can run.  There a lock is waited for as
 * a thread waits, but no longer than a second, then SwitchTrapped is raised.  The error handler is
 * different: it runs on the dying tasklet's own stack, which can wait.
 *
 * Inside a trace function or a callback of sys.monitoring a lock is waited for as a thread waits,
 * too, and so does patched code: what a debugger has stopped is the thread, not a tasklet, or the
 * others would run past their breakpoints.  But the lock may be held by another tasklet of this
 * thread: after a second the tasklet is suspended after all.
 *
 * Released in C.  3.11 and 3.12 release the lock that shows a thread's end without calling a
 * method: a tasklet that waits for one checks again by a timer, at most 20 ms late.
 */
#include "sched/carrier.h"
#include "sched/guests/thread_identity.h"
#include "sync/builtin_lock_queue.h"

#include "cpython/builtin_lock.h"

#define TRIES 10
#define TRAPPED_LONGEST 1000000000
#define PAUSE_FIRST 500000
#define PAUSE_LONGEST 20000000

/* What an acquire() is asked for. */
typedef struct {
    PyObject *lock;
    const c_call_site *site; /* where it may be left softly; NULL: nowhere */
    size_t count;            /* how often an RLock is to be held then */
    int uninterrupted;       /* exceptions wait until the lock is held */
} acquire_call;

/* Looks again and again whether a lock is free that is released in C. */
typedef struct {
    s_timer timer; /* its owner is NULL while it is not armed */
    s_tasklet *waiter;
    int64_t pause;
} lock_check;

static PyObject *uninterruptible;

void y_builtin_lock_uninterruptible(PyObject *code)
{
    uninterruptible = code;
}

/* The pause before the next check. */
static int64_t longer_pause(int64_t pause)
{
    return pause * 2 < PAUSE_LONGEST ? pause * 2 : PAUSE_LONGEST;
}

/* A Condition's waiter takes its lock twice: the second time it waits for a notification. */
static int awaits_notification(const s_tasklet *t)
{
    char name[24];
    c_location frame;
    int more;
    if (c_peek_frames(NULL, &t->c, &frame, 1, &more) == 0)
        return 0;
    c_peek_text(c_peek_function(&frame), name, sizeof(name));
    return strcmp(name, "Condition.wait") == 0;
}

/* Who holds a lock: a tasklet by an odd number, or a thread. */
static unsigned long long owner_of_lock(const s_tasklet *t, PyObject *lock)
{
    if (c_builtin_lock_is_recursive(lock))
        return c_builtin_rlock_owner(lock);
    unsigned long long owner = y_builtin_lock_holder(lock);
    int is_own = owner == s_identity_number(t) ||
                 (t->is_main && t->owner != NULL && owner == t->owner->thread_id);
    return is_own && awaits_notification(t) ? 0 : owner;
}

static int builtin_lock_target(const s_tasklet *t, int i, s_target *found)
{
    PyObject *lock = t->on;
    found->object = lock;
    s_set_target_owner(found, owner_of_lock(t, lock));
    return i == 0;
}

/* The lock was handed over to a tasklet that raises instead: the next one gets it. */
static void pass_on_refused(s_sched *s, s_tasklet *t, PyObject *unused)
{
    (void)unused;
    PyObject *pending = PyErr_GetRaisedException();
    PyObject *done = y_builtin_lock_release_for(s, t->on, y_ident_of(t));
    if (done == NULL)
        PyErr_Clear();
    Py_XDECREF(done);
    PyErr_SetRaisedException(pending);
}

static int acquire_again(s_sched *s, const s_left_wait *left);

static const s_wait_kind given = {.name = "acquire", .refused = pass_on_refused};
static const s_wait_kind acquiring = {.name = "acquire",
                                      .detach = y_builtin_queue_leave,
                                      .target = builtin_lock_target,
                                      .late = Py_False,
                                      .given = &given,
                                      .resumable = 1,
                                      .again = acquire_again};

/* The lock may have been released in C: looks now, and again later. */
static void check_again(s_sched *s, s_timer *timer)
{
    lock_check *check = B_CONTAINER(timer, lock_check, timer);
    timer->owner = NULL;
    if (check->waiter->state == S_BLOCKED)
        y_builtin_lock_released(s, check->waiter->on);
    if (check->waiter->state != S_BLOCKED)
        return;
    check->pause = longer_pause(check->pause);
    if (s_timer_arm(s, timer, s_now(s) + check->pause) == S_OK)
        timer->owner = check;
}

static int begin_checks(s_sched *s, lock_check *check, PyObject *lock)
{
    if (!c_builtin_lock_released_in_c(lock))
        return S_OK;
    check->pause = PAUSE_FIRST;
    check->timer.fire = check_again;
    int code = s_timer_arm(s, &check->timer, s_now(s) + check->pause);
    check->timer.owner = code == S_OK ? check : NULL;
    return code;
}

static void end_checks(s_sched *s, lock_check *check)
{
    if (check->timer.owner != NULL)
        s_timer_disarm(s, &check->timer);
}

/* Whether the call may be left softly: nothing is to be done when it has the lock. */
static int may_leave(const s_sched *s, const acquire_call *call)
{
    return call->site != NULL && !s->trap && !c_builtin_lock_released_in_c(call->lock);
}

/* Suspends the queued current tasklet, also from inside the error handler. */
static PyObject *suspend_in_handler(s_sched *s)
{
    int trap = s->trap, reporting = s->reporting;
    s->trap = 0;
    PyObject *done = s_suspend(s, NULL);
    s->trap = trap;
    s->reporting = reporting;
    return done;
}

/* Queues the current tasklet: 0; 1 when it need not wait; or S_E_. */
static int begin_lock_wait(s_sched *s, PyObject *lock, int64_t until)
{
    s_tasklet *me = s->current;
    int code = s_deadline_set(s, me, until);
    if (code == S_OK)
        code = y_builtin_queue_join(me, lock, &acquiring);
    if (code != 0)
        s_deadline_drop(s, me);
    return code;
}

static int acquire_again(s_sched *s, const s_left_wait *left)
{
    int code = begin_lock_wait(s, left->on, left->until);
    if (code == 1)
        Py_XSETREF(s->current->wait.value, Py_NewRef(Py_True));
    return code;
}

/* Waits once: Py_True, Py_False at `until`, or NULL with *code. */
static PyObject *wait_once(s_sched *s, const acquire_call *call, int64_t until, int *code)
{
    lock_check check = {.waiter = s->current};
    if ((*code = begin_checks(s, &check, call->lock)) < 0)
        return NULL;
    *code = begin_lock_wait(s, call->lock, until);
    PyObject *done = *code == 1 ? Py_NewRef(Py_True) : NULL;
    if (*code == 0)
        done = may_leave(s, call) ? s_suspend(s, call->site) : suspend_in_handler(s);
    end_checks(s, &check);
    if (*code == 0 && done == NULL)
        *code = S_E_SET;
    return done;
}

/* The same, also after handlers of signals have run. */
static PyObject *wait_through(s_sched *s, const acquire_call *call, int64_t until, int *code)
{
    for (;;) {
        PyObject *done = wait_once(s, call, until, code);
        int signalled = s_signalled(s);
        if (signalled == 0)
            return done;
        Py_XDECREF(done);
        if (signalled < 0) {
            *code = S_E_SET;
            return NULL;
        }
    }
}

/* ---- acquire() ------------------------------------------------------------------------------ */

/* Whether this tasklet can be suspended: also inside the error handler. */
static int may_suspend_here(const s_sched *s)
{
    return s->trap == 0 || s->trap == s->reporting;
}

/* Waits as a thread does, no longer than a second: Py_True, Py_False, or NULL with an exception. */
static PyObject *acquire_as_thread(s_sched *s, PyObject *lock, int64_t timeout)
{
    double seconds = (double)(timeout < TRAPPED_LONGEST ? timeout : TRAPPED_LONGEST) / 1e9;
    PyObject *args = Py_BuildValue("(Od)", Py_True, seconds);
    PyObject *done = NULL;
    if (args != NULL)
        done = y_builtin_lock_wait_as_thread(lock, y_owner_ident(s), args, NULL);
    Py_XDECREF(args);
    return done;
}

/* Whether an RLock is held by a tasklet of this thread; of a Lock it is not known. */
static int is_held_here(PyObject *lock)
{
    unsigned long long owner = c_builtin_lock_is_recursive(lock) ? c_builtin_rlock_owner(lock) : 0;
    return owner & 1 || owner == s_home_ident();
}

/* Nothing of this thread can run: another thread releases the lock, or none. */
static PyObject *acquire_trapped(s_sched *s, PyObject *lock, int64_t timeout, int *code)
{
    *code = S_E_TRAPPED;
    if (c_builtin_lock_is_recursive(lock) && c_builtin_rlock_owner(lock) == s_home_ident())
        return NULL;
    *code = S_E_SET;
    PyObject *done = acquire_as_thread(s, lock, timeout);
    if (done == Py_False && timeout > TRAPPED_LONGEST) {
        *code = S_E_TRAPPED;
        Py_CLEAR(done);
    }
    return done;
}

static int64_t acquire_deadline(s_sched *s, int64_t timeout)
{
    int64_t now = s_now(s);
    return timeout >= S_FOREVER - 1 - now ? S_FOREVER : now + timeout;
}

static PyObject *acquire_or_raise(s_sched *s, const acquire_call *call, int64_t timeout, int *code)
{
    *code = s->current->cancelled ? S_E_CANCELLED : S_OK;
    if (*code < 0)
        return NULL;
    return wait_through(s, call, acquire_deadline(s, timeout), code);
}

/* Exceptions are raised when the lock is held. */
static PyObject *acquire_uninterrupted(s_sched *s, PyObject *lock, int *code)
{
    const acquire_call call = {.lock = lock};
    PyObject *pending = NULL, *done = NULL;
    for (int tries = 0; done == NULL && tries < TRIES; tries++) {
        done = wait_through(s, &call, S_FOREVER, code);
        if (*code < 0 && *code != S_E_SET)
            break;
        PyObject *raised = PyErr_GetRaisedException();
        if (pending == NULL)
            pending = raised;
        else
            Py_XDECREF(raised);
    }
    if (pending == NULL)
        return done;
    Py_XDECREF(done);
    PyErr_SetRaisedException(pending);
    *code = S_E_SET;
    return NULL;
}

static int is_uninterruptible(s_sched *s)
{
    PyObject *where;
    int line;
    if (uninterruptible == NULL || !c_running_location(s->ts, &where, &line))
        return 0;
    Py_DECREF(where);
    return where == uninterruptible;
}

/* As if the thread waited, because it may be stopped by a debugger.  NULL without *code: the
 * tasklet had better be suspended, for what is left of *timeout. */
static PyObject *acquire_in_trace(s_sched *s, PyObject *lock, int64_t *timeout, int *code)
{
    PyObject *done = acquire_as_thread(s, lock, *timeout);
    *code = done != NULL ? S_OK : S_E_SET;
    if (done != Py_False || *timeout <= TRAPPED_LONGEST)
        return done;
    Py_DECREF(done);
    *timeout -= *timeout < S_FOREVER ? TRAPPED_LONGEST : 0;
    return NULL;
}

static PyObject *acquire_builtin(s_sched *s, const acquire_call *call, int64_t timeout, int *code)
{
    PyObject *lock = call->lock;
    if (!may_suspend_here(s))
        return acquire_trapped(s, lock, timeout, code);
    if (c_trace_running(s->ts) && !is_held_here(lock)) {
        PyObject *done = acquire_in_trace(s, lock, &timeout, code);
        if (done != NULL || *code < 0)
            return done;
    }
    if (call->uninterrupted || (timeout == S_FOREVER && is_uninterruptible(s)))
        return acquire_uninterrupted(s, lock, code);
    return acquire_or_raise(s, call, timeout, code);
}

/* Waits only if the lock is not free. */
static PyObject *take_or_acquire(s_sched *s, const acquire_call *call, int64_t timeout, int *code)
{
    int taken = y_builtin_lock_take(call->lock, y_owner_ident(s), call->count);
    *code = taken < 0 ? S_E_SET : S_OK;
    if (taken < 0)
        return NULL;
    if (taken || timeout == 0)
        return PyBool_FromLong(taken);
    return acquire_builtin(s, call, timeout, code);
}

PyObject *y_builtin_lock_acquire(s_sched *s, PyObject *lock, int64_t timeout,
                                 const c_call_site *site, int *code)
{
    acquire_call call = {.lock = lock, .site = site, .count = 1};
    return take_or_acquire(s, &call, timeout, code);
}

PyObject *y_builtin_lock_restore(s_sched *s, PyObject *rlock, size_t count, int *code)
{
    acquire_call call = {.lock = rlock, .count = count, .uninterrupted = 1};
    PyObject *done = take_or_acquire(s, &call, S_FOREVER, code);
    if (c_builtin_rlock_owner(rlock) == y_owner_ident(s))
        c_builtin_rlock_set_count(rlock, count);
    return done;
}
