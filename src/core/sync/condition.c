/* The condition of sync.h.
 *
 * It has a queue of its own, under the guard of its lock, so a waiter is in one of the two queues
 * at any moment.  notify() moves a waiter from the condition's queue to the end of the lock's,
 * where it waits for its turn like any other: it is not woken to find the lock held.  Whether a
 * waiter was called is its wait.value, True from then on, written and read under that guard.  For
 * one that had taken a reentrant lock more than once it is an int instead: how often, below 0 until
 * it is called; the lock is handed to it as often.
 *
 * A wait that ends in another way, as its time is over or something is raised in it, needs the lock
 * too.  Nothing of the call is left that could take it, so the waiter does not wake: it takes the
 * lock if that is free, or goes to the end of the lock's queue, and is of the kind `returning` from
 * then on.  What it shall raise is in its `error` meanwhile; without one it returns False.  What is
 * thrown into it then is raised instead; a cancel is not, which waits for the next blocking call.
 *
 * Invariants.  Whoever notifies holds the lock, so nobody waits for a free one.  Whatever ends a
 * wait, the tasklet holds the lock as often as before, with two exceptions, in which nobody could
 * hand it over: main gets the error of a deadlock while it waits for the lock, or there is no C
 * stack to wait on.  A notification that reaches a waiter which raises goes to the next waiter.  A
 * waiter that was called is in time: its deadline does not count any more.  A kind changes under
 * the guard, on the tasklet's own thread, as long as the tasklet is queued.
 *
 * Rejected: a wait that ends without the lock, and a caller in Python that takes it again, behind a
 * shield and in a loop: a frame and two calls more for each wait.
 */
#include "sync/gate.h"

static const s_wait_kind waiting, without_lock;

static c_lock *condition_guard(const y_condition *condition)
{
    return &condition->lock->gate.guard;
}

static int waits_deeper(const s_tasklet *t)
{
    return t->wait.value != NULL && PyLong_CheckExact(t->wait.value);
}

static int is_called(const s_tasklet *t)
{
    return t->wait.value != NULL && (!waits_deeper(t) || PyLong_AsLong(t->wait.value) > 0);
}

/* Without memory it has its lock once only, which is better than to wait for ever. */
static void mark_called(s_tasklet *t)
{
    PyObject *called =
        waits_deeper(t) ? PyLong_FromLong(-PyLong_AsLong(t->wait.value)) : Py_NewRef(Py_True);
    if (called == NULL)
        PyErr_Clear();
    Py_XSETREF(t->wait.value, called != NULL ? called : Py_NewRef(Py_True));
}

/* Under the guard: whoever waits longest waits for the lock from now on.  0: nobody waits. */
static int call_first(y_condition *condition)
{
    b_link *first = b_first(&condition->gate.waiters);
    if (first == NULL)
        return 0;
    b_unlink(first);
    mark_called(s_of_link(first));
    b_append(&condition->lock->gate.waiters, first);
    return 1;
}

static int leave_condition(s_tasklet *t)
{
    y_condition *condition = t->on;
    c_lock_take(condition_guard(condition));
    int queued = t->queued;
    if (queued) {
        s_dequeue(&t->wait.link);
        if (t->kind == &waiting && is_called(t))
            call_first(condition);
        Py_CLEAR(t->wait.value);
    }
    c_lock_give(condition_guard(condition));
    return queued;
}

static PyObject *waited_condition(s_tasklet *t)
{
    return Py_NewRef((PyObject *)t->on);
}

enum y_condition_stage y_condition_stage(const s_tasklet *t)
{
    if (t->kind == &y_condition_returning)
        return Y_RETURNS;
    return is_called(t) ? Y_NOTIFIED : Y_WAITS;
}

static int condition_target(const s_tasklet *t, int i, s_target *found)
{
    const y_condition *condition = t->on;
    const y_lock *lock = condition->lock;
    int waits = y_condition_stage(t) == Y_WAITS;
    found->object = waits ? (PyObject *)condition : (PyObject *)lock;
    found->holder = !waits && lock->held ? lock->holder : 0;
    return i == 0;
}

/* ---- the end of a wait without a notification --------------------------------------- */

/* Under the guard: `t`, which is in no queue, gets a free lock (1), or waits for it (0). */
static int take_or_queue(y_condition *condition, s_tasklet *t, const s_wait_kind *kind)
{
    y_lock *lock = condition->lock;
    if (lock->held) {
        s_enqueue(t, &lock->gate.waiters, kind, condition);
        return 0;
    }
    y_lock_give(lock, t, y_depth_after_wait(t));
    return 1;
}

/* Under the guard: the wait of one that is queued is over.  1: it is claimed, and has the lock; 0:
 * it waits for that. */
static int begin_return(y_condition *condition, s_tasklet *t)
{
    if (t->kind == &y_condition_returning)
        return 0;
    t->kind = &y_condition_returning;
    if (is_called(t)) {
        call_first(condition);
        return 0;
    }
    s_dequeue(&t->wait.link);
    return take_or_queue(condition, t, &y_condition_returning);
}

/* The one that was to be raised before is the context, if neither has one: so there is no circle.
 */
static void raise_instead(PyObject *error, PyObject *before)
{
    PyObject *mine = PyException_GetContext(error), *its = PyException_GetContext(before);
    if (mine == NULL && its == NULL && error != before)
        PyException_SetContext(error, Py_NewRef(before));
    Py_XDECREF(mine);
    Py_XDECREF(its);
    Py_DECREF(before);
}

static int return_to_raise(s_tasklet *t, PyObject *error)
{
    y_condition *condition = t->on;
    PyObject *before = NULL;
    int detached = 0;
    c_lock_take(condition_guard(condition));
    if (t->queued)
        detached = begin_return(condition, t) ? 1 : S_KEEPS_ERROR;
    if (detached == S_KEEPS_ERROR) {
        before = t->error;
        t->error = Py_NewRef(error);
    }
    c_lock_give(condition_guard(condition));
    if (detached == S_KEEPS_ERROR)
        s_deadline_drop(t->owner, t);
    if (before != NULL)
        raise_instead(error, before);
    return detached;
}

/* It was notified and has the lock, and raises: the notification was for the next one. */
static void notify_next(s_sched *s, s_tasklet *t, PyObject *unused)
{
    (void)s, (void)unused;
    y_condition *condition = t->on;
    c_lock_take(condition_guard(condition));
    if (y_condition_is_held(condition, t))
        call_first(condition);
    c_lock_give(condition_guard(condition));
}

static void release_discarded(s_sched *s, s_tasklet *t)
{
    y_condition *condition = t->on;
    s_refuse(s, t);
    y_lock_abandon(s, condition->lock, t);
}

/* Nobody is left who could release the lock for which main waits: the error is raised without. */
static int give_lock_up(s_sched *s, s_tasklet *t)
{
    (void)s;
    y_condition *condition = t->on;
    c_lock_take(condition_guard(condition));
    if (t->queued && y_condition_stage(t) != Y_WAITS) {
        begin_return(condition, t);
        t->kind = &without_lock;
    }
    c_lock_give(condition_guard(condition));
    return 0;
}

static const s_wait_kind given = {
    .name = "wait", .refused = notify_next, .discarded = release_discarded};
static const s_wait_kind returned = {.name = "wait", .discarded = release_discarded};
static const s_wait_kind without_lock = {.name = "wait",
                                         .detach = leave_condition,
                                         .object = waited_condition,
                                         .target = condition_target};
static const s_wait_kind waiting = {.name = "wait",
                                    .detach = leave_condition,
                                    .detach_for = return_to_raise,
                                    .break_deadlock = give_lock_up,
                                    .object = waited_condition,
                                    .target = condition_target,
                                    .given = &given};
const s_wait_kind y_condition_returning = {.name = "wait",
                                           .detach = leave_condition,
                                           .detach_for = return_to_raise,
                                           .break_deadlock = give_lock_up,
                                           .object = waited_condition,
                                           .target = condition_target,
                                           .shielded = 1,
                                           .given = &returned};

static void end_in_time(s_sched *s, s_timer *timer)
{
    s_tasklet *t = timer->owner;
    if (t->state != S_BLOCKED || t->kind != &waiting)
        return;
    y_condition *condition = t->on;
    c_lock_take(condition_guard(condition));
    int late = t->queued && !is_called(t);
    int taken = late && begin_return(condition, t);
    c_lock_give(condition_guard(condition));
    if (taken) {
        s_give(t, Py_False);
        s_wake(s, t);
    } else if (late) {
        s_deadline_drop(s, t);
    }
}

/* ---- waiting -------------------------------------------------------------------------- */

static int set_condition_deadline(s_sched *s, s_tasklet *t, int64_t until)
{
    return until == S_FOREVER ? S_OK : s_deadline_with(s, t, until, end_in_time);
}

static void queue_for(y_condition *condition, s_tasklet *t)
{
    s_enqueue(t, &condition->gate.waiters, &waiting, condition);
    t->owner->tasklet_waits++;
}

int y_condition_is_plain(const s_tasklet *t)
{
    return !waits_deeper(t);
}

/* Before a wait: how often the lock is given up. */
static int note_depth(s_tasklet *t, uint32_t depth)
{
    Py_CLEAR(t->wait.value);
    if (depth <= 1)
        return S_OK;
    t->wait.value = PyLong_FromLong(-(long)depth);
    return t->wait.value != NULL ? S_OK : S_E_SET;
}

int y_condition_is_held(const y_condition *condition, const s_tasklet *t)
{
    return condition->lock->held && condition->lock->holder == t->id;
}

static int begin_condition_wait(s_sched *s, y_condition *condition, int64_t until)
{
    s_tasklet *me = s->current;
    int code = y_condition_is_held(condition, me) ? s_may_block(s) : S_E_NOT_HELD;
    if (code == S_OK)
        code = note_depth(me, condition->lock->depth);
    if (code == S_OK)
        code = set_condition_deadline(s, me, until);
    if (code < 0)
        Py_CLEAR(me->wait.value);
    return code;
}

/* There was no C stack on which the next tasklet could run, so the wait has ended at once.  The
 * lock is taken again, on this stack; if that fails too, the error is raised without it. */
static B_COLD PyObject *end_without_switch(s_sched *s, y_condition *condition, uint32_t depth)
{
    s_tasklet *me = s->current;
    y_lock *lock = condition->lock;
    int code;
    PyObject *error = PyErr_GetRaisedException(), *later = me->error;
    me->error = NULL;
    if (later != NULL)
        Py_SETREF(error, later);
    PyObject *taken = y_lock_acquire(s, lock, S_FOREVER, NULL, &code);
    if (taken != NULL)
        lock->depth = depth;
    Py_XDECREF(taken);
    PyErr_SetRaisedException(error);
    return NULL;
}

PyObject *y_condition_wait(s_sched *s, y_condition *condition, int64_t until,
                           const c_call_site *site, int *code)
{
    s_tasklet *me = s->current;
    if ((*code = begin_condition_wait(s, condition, until)) < 0)
        return NULL;
    uint32_t depth = condition->lock->depth;
    c_lock_take(condition_guard(condition));
    queue_for(condition, me);
    s_tasklet *next = y_lock_leave(condition->lock, me);
    c_lock_give(condition_guard(condition));
    if (next != NULL)
        y_let_hold(s, next);
    PyObject *done = s_suspend(s, site);
    if (B_UNLIKELY(done == NULL && (me->kind == &waiting || me->kind == &y_condition_returning)))
        return end_without_switch(s, condition, depth);
    return done;
}

int y_condition_wait_as(s_sched *s, s_tasklet *t, y_condition *condition, int64_t until,
                        enum y_condition_stage stage)
{
    int code = set_condition_deadline(s, t, until), taken = 0;
    if (code < 0)
        return code;
    Py_XSETREF(t->wait.value, stage == Y_NOTIFIED ? Py_NewRef(Py_True) : NULL);
    Py_INCREF((PyObject *)t);
    c_lock_take(condition_guard(condition));
    if (stage == Y_WAITS)
        queue_for(condition, t);
    else
        taken =
            take_or_queue(condition, t, stage == Y_NOTIFIED ? &waiting : &y_condition_returning);
    c_lock_give(condition_guard(condition));
    if (taken) {
        if (stage == Y_RETURNS && t->error == NULL)
            Py_XSETREF(t->wait.value, Py_NewRef(Py_False));
        s_deadline_drop(s, t);
        s_ready(s, t);
    }
    return S_OK;
}

int y_condition_notify(s_sched *s, y_condition *condition, Py_ssize_t count)
{
    if (!y_condition_is_held(condition, s->current))
        return S_E_NOT_HELD;
    c_lock_take(condition_guard(condition));
    while (count > 0 && call_first(condition))
        count--;
    c_lock_give(condition_guard(condition));
    return S_OK;
}

Py_ssize_t y_condition_waiters(y_condition *condition)
{
    Py_ssize_t count = 0;
    const b_link *queue = &condition->gate.waiters;
    c_lock_take(condition_guard(condition));
    for (const b_link *at = queue->next; at != NULL && at != queue; at = at->next)
        count++;
    c_lock_give(condition_guard(condition));
    return count;
}
