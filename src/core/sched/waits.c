/* The waits that the kernel itself has: for the end of a tasklet, and for a time.
 *
 * The tasklets that join another one are in a queue of its own, under its lock.  A sleep is a wait
 * with a deadline and no queue.  Both can be begun for a tasklet that was restored from a snapshot
 * and is paused.
 */
#include "sched/internal.h"

/* ---- join ---------------------------------------------------------------------------- */

static int join_detach(s_tasklet *t)
{
    return s_leave_queue(t, &((s_tasklet *)t->on)->lock);
}

static int join_target(const s_tasklet *t, int i, s_target *found)
{
    s_tasklet *joined = t->on;
    found->object = (PyObject *)joined;
    found->holder = joined->id;
    return i == 0;
}

static int join_again(s_sched *s, const s_left_wait *left);

static const s_wait_kind joining = {.name = "join",
                                    .detach = join_detach,
                                    .target = join_target,
                                    .anywhere = 1,
                                    .resumable = 1,
                                    .again = join_again};

static PyObject *outcome_of(const s_tasklet *me, s_tasklet *t, int want_result)
{
    PyObject *failure = s_failure_for(me, t);
    if (failure == NULL)
        return Py_NewRef(want_result && t->result ? t->result : Py_None);
    PyErr_SetObject((PyObject *)Py_TYPE(failure), failure);
    Py_DECREF(failure);
    return NULL;
}

/* Queues me with the target, unless it has ended meanwhile: then 0. */
static int queue_join(s_tasklet *me, s_tasklet *t, int want_result)
{
    c_lock_take(&t->lock);
    int alive = t->state != S_DONE;
    if (alive) {
        if (!b_linked(&t->joiners))
            b_list_init(&t->joiners);
        Py_XSETREF(me->wait.value, want_result ? Py_NewRef(Py_None) : NULL);
        s_enqueue(me, &t->joiners, &joining, t);
        me->owner->tasklet_waits++;
    }
    c_lock_give(&t->lock);
    return alive;
}

/* Waits for the end of `t` once; *again: the wait was left for handlers of signals. */
static PyObject *join_once(s_sched *s, s_tasklet *t, int64_t until, int want_result,
                           const c_call_site *site, int *code, int *again)
{
    s_tasklet *me = s->current;
    *again = 0;
    *code = S_OK;
    if (t->state == S_DONE)
        return outcome_of(me, t, want_result);
    if ((*code = t == me ? S_E_CURRENT : s_may_block(s)) < 0)
        return NULL;
    if ((*code = s_deadline_set(s, me, until)) < 0)
        return NULL;
    if (!queue_join(me, t, want_result)) {
        s_deadline_drop(s, me);
        return outcome_of(me, t, want_result);
    }
    PyObject *done = s_suspend(s, site);
    if ((*again = s_signalled(s)) != 0)
        Py_CLEAR(done);
    return done;
}

PyObject *s_join(s_sched *s, s_tasklet *t, int64_t until, int want_result, const c_call_site *site,
                 int *code)
{
    int again;
    PyObject *done;
    do {
        done = join_once(s, t, until, want_result, site, code, &again);
    } while (again > 0);
    return done;
}

/* 0: `t` waits; 1: it need not, with wait.value and error; or S_E_. */
static int begin_join(s_sched *s, s_tasklet *t, s_tasklet *target, int want_result, int64_t until)
{
    int code = s_deadline_set(s, t, until);
    if (code < 0 || queue_join(t, target, want_result))
        return code;
    s_deadline_drop(s, t);
    s_hand_outcome(t, target, want_result);
    return 1;
}

static int join_again(s_sched *s, const s_left_wait *left)
{
    return begin_join(s, s->current, (s_tasklet *)left->on, left->value != NULL, left->until);
}

int s_join_again(s_sched *s, s_tasklet *t, s_tasklet *target, int want_result, int64_t until)
{
    int code = target == t ? S_E_SNAPSHOT : begin_join(s, t, target, want_result, until);
    if (code < 0)
        return code;
    Py_INCREF((PyObject *)t);
    if (code == 1)
        s_ready(s, t);
    return S_OK;
}

/* ---- sleep --------------------------------------------------------------------------- */

static int sleep_detach(s_tasklet *t)
{
    (void)t;
    return 1;
}

static PyObject *sleep_object(s_tasklet *t)
{
    return PyFloat_FromDouble((double)t->timer->node.when / 1e9);
}

static int sleep_again(s_sched *s, const s_left_wait *left);

static const s_wait_kind sleeping = {.name = "sleep",
                                     .detach = sleep_detach,
                                     .object = sleep_object,
                                     .resumable = 1,
                                     .again = sleep_again};

static void wake_sleeper(s_sched *s, s_timer *timer)
{
    s_tasklet *t = timer->owner;
    Py_XSETREF(t->wait.value, Py_NewRef(Py_None));
    s_wake(s, t);
}

static int begin_timed_wait(s_sched *s, s_tasklet *t, int64_t when)
{
    int code = s_deadline_with(s, t, when, wake_sleeper);
    if (code < 0)
        return code;
    t->kind = &sleeping;
    t->on = NULL;
    t->state = S_BLOCKED;
    return S_OK;
}

static int sleep_again(s_sched *s, const s_left_wait *left)
{
    if (s_now(s) < left->until)
        return begin_timed_wait(s, s->current, left->until);
    Py_XSETREF(s->current->wait.value, Py_NewRef(Py_None));
    return 1;
}

static PyObject *sleep_through(s_sched *s, int64_t when, const c_call_site *site, int *code)
{
    PyObject *done;
    int signalled;
    do {
        *code = s_may_block(s);
        if (*code == S_OK)
            *code = begin_timed_wait(s, s->current, when);
        if (*code < 0)
            return NULL;
        done = s_suspend(s, site);
        if ((signalled = s_signalled(s)) < 0)
            Py_CLEAR(done);
        if (signalled <= 0)
            return done;
        Py_XDECREF(done);
    } while (s_now(s) < when);
    Py_RETURN_NONE;
}

PyObject *s_sleep(s_sched *s, int64_t nanoseconds, const c_call_site *site, int *code)
{
    *code = s_may_block(s);
    if (*code < 0)
        return NULL;
    if (nanoseconds <= 0)
        return s_schedule(s, site);
    int64_t now = s_now(s);
    int64_t when = nanoseconds > INT64_MAX - 1 - now ? INT64_MAX - 1 : now + nanoseconds;
    return sleep_through(s, when, site, code);
}

int s_sleep_again(s_sched *s, s_tasklet *t, int64_t nanoseconds)
{
    int code = begin_timed_wait(s, t, s_now(s) + nanoseconds);
    if (code == S_OK)
        Py_INCREF((PyObject *)t);
    return code;
}
