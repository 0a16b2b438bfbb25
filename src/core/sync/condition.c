/* The condition of sync.h.
 *
 * It has a queue of its own, under the guard of its lock, so a waiter is in one of the two queues
 * at any moment.  notify() moves a waiter from the condition's queue to the end of the lock's,
 * where it waits for its turn like any other: it is not woken to find the lock held.  Whether a
 * waiter was called is its wait.value, True from then on, written and read under that guard.  For
 * one that had taken a reentrant lock more than once it is an int instead: how often, below 0 until
 * it is called; the lock is handed to it as often.
 *
 * Invariants: whoever notifies holds the lock, so nobody waits for a free one.  A wait that returns
 * True holds the lock.  One that ends in another way does not, and is not notified: what had called
 * it calls the next one.  A waiter that was called is in time: its deadline does not count any
 * more.
 */
#include "sync/gate.h"

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
        if (is_called(t))
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

static int condition_target(const s_tasklet *t, int i, s_target *found)
{
    const y_condition *condition = t->on;
    const y_lock *lock = condition->lock;
    int called = is_called(t);
    found->object = called ? (PyObject *)lock : (PyObject *)condition;
    found->holder = called && lock->held ? lock->holder : 0;
    return i == 0;
}

/* The lock was handed over to a tasklet that has to raise instead. */
static void pass_on(s_sched *s, s_tasklet *t, PyObject *unused)
{
    (void)unused;
    y_condition *condition = t->on;
    if (!y_condition_is_held(condition, t))
        return;
    c_lock_take(condition_guard(condition));
    call_first(condition);
    s_tasklet *next = y_lock_leave(condition->lock, t);
    c_lock_give(condition_guard(condition));
    if (next != NULL)
        y_let_pass(s, next);
}

static const s_wait_kind given = {.name = "wait", .refused = pass_on};
static const s_wait_kind waiting = {.name = "wait",
                                    .detach = leave_condition,
                                    .object = waited_condition,
                                    .target = condition_target,
                                    .given = &given};

static void end_in_time(s_sched *s, s_timer *timer)
{
    s_tasklet *t = timer->owner;
    if (t->state != S_BLOCKED || t->kind != &waiting)
        return;
    c_lock *guard = condition_guard(t->on);
    c_lock_take(guard);
    int late = t->queued && !is_called(t);
    if (late)
        s_dequeue(&t->wait.link);
    c_lock_give(guard);
    if (late) {
        s_give(t, Py_False);
        s_wake(s, t);
    }
}

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

PyObject *y_condition_wait(s_sched *s, y_condition *condition, int64_t until,
                           const c_call_site *site, int *code)
{
    *code = y_condition_is_held(condition, s->current) ? s_may_block(s) : S_E_NOT_HELD;
    if (*code == S_OK)
        *code = note_depth(s->current, condition->lock->depth);
    if (*code == S_OK)
        *code = set_condition_deadline(s, s->current, until);
    if (*code < 0) {
        Py_CLEAR(s->current->wait.value);
        return NULL;
    }
    c_lock_take(condition_guard(condition));
    queue_for(condition, s->current);
    s_tasklet *next = y_lock_leave(condition->lock, s->current);
    c_lock_give(condition_guard(condition));
    if (next != NULL)
        y_let_pass(s, next);
    return s_suspend(s, site);
}

/* One that was called takes a free lock, or waits for it. */
static int take_as_called(y_condition *condition, s_tasklet *t)
{
    y_lock *lock = condition->lock;
    Py_XSETREF(t->wait.value, Py_NewRef(Py_True));
    if (lock->held) {
        s_enqueue(t, &lock->gate.waiters, &waiting, condition);
        return 0;
    }
    y_lock_give(lock, t, 1);
    return 1;
}

int y_condition_wait_as(s_sched *s, s_tasklet *t, y_condition *condition, int64_t until, int called)
{
    int code = set_condition_deadline(s, t, until), taken = 0;
    if (code < 0)
        return code;
    Py_CLEAR(t->wait.value);
    Py_INCREF((PyObject *)t);
    c_lock_take(condition_guard(condition));
    if (called)
        taken = take_as_called(condition, t);
    else
        queue_for(condition, t);
    c_lock_give(condition_guard(condition));
    if (taken) {
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
