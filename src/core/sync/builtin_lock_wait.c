/* A tasklet waits for a stock lock, or for what tells nobody.
 *
 * Always hard.  The C frames of acquire() are kept: after a wait that was ended by
 * an exception they must give back a lock that was handed over meanwhile.
 *
 * Not to be interrupted.  Taking an RLock back after Condition.wait(), or the lock
 * of a Condition by its own _acquire_restore, must not fail: the code around it
 * releases the lock next.  An exception that comes meanwhile is raised when the
 * lock is held again.  Only one that comes ten times over is let through, because
 * nobody will ever give that lock back.
 *
 * Inside a callback of the scheduler nothing of this thread can run.  There a lock
 * is waited for as a thread waits, but no longer than a second, then SwitchTrapped
 * is raised.  The error handler is different: it runs on the dying tasklet's own
 * stack, which can wait.
 *
 * Given in C.  3.11 and 3.12 give a thread's end lock without any method: a tasklet
 * that waits for one looks again by a timer, at most 20 ms late.
 */
#include "sync/builtin_lock_queue.h"

#include "cpython/builtin_lock.h"

#define TRIES 10
#define TRAPPED_LONGEST 1000000000
#define LOOK_FIRST 500000
#define LOOK_LONGEST 20000000

typedef struct {
    y_builtin_request want;
    s_timer look; /* for locks given in C */
    int64_t pause;
} waiting;

static PyObject *never_interrupt;

void y_builtin_lock_uninterruptible(PyObject *code)
{
    never_interrupt = code;
}

/* The pause before the next look. */
static int64_t longer(int64_t pause)
{
    return pause * 2 < LOOK_LONGEST ? pause * 2 : LOOK_LONGEST;
}

/* Only an RLock knows who holds it: a tasklet by an odd number, or a thread. */
static int target(const s_tasklet *t, int i, s_target *found)
{
    PyObject *lock = ((y_builtin_request *)t->on)->lock;
    unsigned long long owner = c_builtin_lock_is_recursive(lock) ? c_builtin_rlock_owner(lock) : 0;
    found->object = lock;
    found->holder = owner & 1 ? owner / 2 : 0;
    found->thread = owner & 1 ? 0 : (unsigned long)owner;
    return i == 0;
}

static const s_wait_kind acquiring = {
    .name = "acquire", .detach = y_builtin_queue_leave, .target = target, .late = Py_False};

/* The lock may have been given in C: looks, and comes back later. */
static void look(s_sched *s, s_timer *timer)
{
    waiting *w = B_CONTAINER(timer, waiting, look);
    timer->owner = NULL;
    y_builtin_lock_released(s, w->want.lock);
    if (w->want.granted)
        return;
    w->pause = longer(w->pause);
    if (s_timer_arm(s, timer, s_now(s) + w->pause) == S_OK)
        timer->owner = w;
}

static int look_begin(s_sched *s, waiting *w)
{
    if (!c_builtin_lock_released_in_c(w->want.lock))
        return S_OK;
    w->pause = LOOK_FIRST;
    w->look.fire = look;
    int code = s_timer_arm(s, &w->look, s_now(s) + w->pause);
    w->look.owner = code == S_OK ? w : NULL;
    return code;
}

static void look_end(s_sched *s, waiting *w)
{
    if (w->look.owner != NULL)
        s_timer_disarm(s, &w->look);
}

/* Suspends the queued current tasklet, also from inside the error handler. */
static PyObject *suspend(s_sched *s)
{
    int trap = s->trap, reporting = s->reporting;
    s->trap = 0;
    PyObject *done = s_suspend(s, NULL);
    s->trap = trap;
    s->reporting = reporting;
    return done;
}

/* Waits once: Py_True, Py_False when the time is over, NULL with *code. */
static PyObject *wait_once(s_sched *s, waiting *w, int64_t until, int *code)
{
    s_tasklet *me = s->current;
    if ((*code = look_begin(s, w)) < 0)
        return NULL;
    if ((*code = s_deadline_set(s, me, until)) == S_OK)
        *code = y_builtin_queue_join(me, &w->want, &acquiring);
    PyObject *done = *code == 0 ? suspend(s) : *code == 1 ? Py_NewRef(Py_True) : NULL;
    if (*code != 0)
        s_deadline_drop(s, me);
    look_end(s, w);
    if (*code == 0 && done == NULL)
        *code = S_E_SET;
    return done;
}

/* ---- what acquire() does ------------------------------------------------------------------ */

/* Whether this flow may stop here although `trap` is up. */
static int may_stop(const s_sched *s)
{
    return s->trap == 0 || s->trap == s->reporting;
}

/* Nothing of this thread can run: the lock comes from another thread, or not at all. */
static PyObject *acquire_trapped(waiting *w, int64_t timeout, int *code)
{
    *code = S_E_TRAPPED;
    if (c_builtin_lock_is_recursive(w->want.lock) &&
        c_builtin_rlock_owner(w->want.lock) == PyThread_get_thread_ident())
        return NULL;
    *code = S_E_SET;
    double seconds = (double)(timeout < TRAPPED_LONGEST ? timeout : TRAPPED_LONGEST) / 1e9;
    PyObject *args = Py_BuildValue("(Od)", Py_True, seconds);
    PyObject *done = args ? y_builtin_lock_wait_as_thread(w->want.lock, args, NULL) : NULL;
    Py_XDECREF(args);
    if (done == Py_True && c_builtin_lock_is_recursive(w->want.lock)) {
        c_builtin_rlock_set_owner(w->want.lock, w->want.ident);
        c_builtin_rlock_set_count(w->want.lock, w->want.count);
    }
    if (done == Py_False && timeout > TRAPPED_LONGEST) {
        *code = S_E_TRAPPED;
        Py_CLEAR(done);
    }
    return done;
}

static int64_t deadline(s_sched *s, int64_t timeout)
{
    int64_t now = s_now(s);
    return timeout >= S_FOREVER - 1 - now ? S_FOREVER : now + timeout;
}

/* A lock that was handed over to a tasklet that raises instead goes on to the next. */
static void give_up(s_sched *s, waiting *w)
{
    PyObject *pending = PyErr_GetRaisedException();
    PyObject *done = y_builtin_lock_release(s, w->want.lock);
    if (done == NULL)
        PyErr_Clear();
    Py_XDECREF(done);
    PyErr_SetRaisedException(pending);
}

static PyObject *acquire_once(s_sched *s, waiting *w, int64_t timeout, int *code)
{
    *code = s->current->cancelled ? S_E_CANCELLED : S_OK;
    if (*code < 0)
        return NULL;
    PyObject *done = wait_once(s, w, deadline(s, timeout), code);
    if (done == NULL && w->want.granted)
        give_up(s, w);
    return done;
}

/* Exceptions wait until the lock is held. */
static PyObject *acquire_surely(s_sched *s, waiting *w, int *code)
{
    PyObject *pending = NULL, *done = NULL;
    for (int tries = 0; done == NULL && !w->want.granted && tries < TRIES; tries++) {
        done = wait_once(s, w, S_FOREVER, code);
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

static int is_sure(s_sched *s)
{
    PyObject *where;
    int line;
    if (never_interrupt == NULL || !c_running_location(s->ts, &where, &line))
        return 0;
    Py_DECREF(where);
    return where == never_interrupt;
}

static PyObject *acquire(s_sched *s, PyObject *lock, size_t count, int64_t timeout, int sure,
                         int *code)
{
    waiting w = {.want = {.lock = lock, .ident = y_owner_ident(s), .count = count}};
    int taken = y_builtin_lock_take(lock, w.want.ident, count);
    *code = taken < 0 ? S_E_SET : S_OK;
    if (taken < 0)
        return NULL;
    if (taken || timeout == 0)
        return PyBool_FromLong(taken);
    if (!may_stop(s))
        return acquire_trapped(&w, timeout, code);
    if (sure || (timeout == S_FOREVER && is_sure(s)))
        return acquire_surely(s, &w, code);
    return acquire_once(s, &w, timeout, code);
}

PyObject *y_builtin_lock_acquire(s_sched *s, PyObject *lock, int64_t timeout, int *code)
{
    return acquire(s, lock, 1, timeout, 0, code);
}

PyObject *y_builtin_lock_restore(s_sched *s, PyObject *rlock, size_t count, int *code)
{
    return acquire(s, rlock, count, S_FOREVER, 1, code);
}
