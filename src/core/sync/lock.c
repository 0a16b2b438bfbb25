/* The lock of sync.h. */
#include "sync/sync.h"

static int leave_lock(s_tasklet *t)
{
    return s_leave_queue(t, &((y_lock *)t->on)->guard);
}

static int lock_target(const s_tasklet *t, int i, s_target *found)
{
    y_lock *lock = t->on;
    found->object = (PyObject *)lock;
    found->holder = lock->held ? lock->holder : 0;
    return i == 0;
}

/* The lock was handed over to a tasklet that has to raise instead: releases it. */
static void release_refused(s_sched *s, s_tasklet *t)
{
    y_lock *lock = t->on;
    if (lock->held && lock->holder == t->id)
        y_lock_release(s, lock);
}

static const s_wait_kind given = {.name = "acquire", .refused = release_refused};
static const s_wait_kind acquiring = {.name = "acquire",
                                      .detach = leave_lock,
                                      .target = lock_target,
                                      .late = Py_False,
                                      .given = &given};

void y_lock_init(y_lock *lock)
{
    b_list_init(&lock->waiters);
}

/* Held already, or taken now, or queued: 1, 1, 0. */
static int take_or_queue(s_tasklet *me, y_lock *lock, int wait)
{
    c_lock_take(&lock->guard);
    int taken = !lock->held;
    if (taken) {
        lock->held = 1;
        lock->holder = me->id;
    } else if (wait) {
        s_enqueue(me, &lock->waiters, &acquiring, lock);
        me->owner->tasklet_waits++;
    }
    c_lock_give(&lock->guard);
    return taken;
}

PyObject *y_lock_acquire(s_sched *s, y_lock *lock, int64_t until, const c_call_site *site,
                         int *code)
{
    s_tasklet *me = s->current;
    *code = S_OK;
    if (take_or_queue(me, lock, 0))
        return Py_NewRef(Py_True);
    if (until != S_FOREVER && until <= s_now(s))
        *code = S_E_TIMEOUT;
    else if ((*code = s_may_block(s)) == S_OK)
        *code = s_deadline_set(s, me, until);
    if (*code < 0)
        return NULL;
    if (take_or_queue(me, lock, 1)) {
        s_deadline_drop(s, me);
        return Py_NewRef(Py_True);
    }
    return s_suspend(s, site);
}

int y_lock_acquire_as(s_sched *s, s_tasklet *t, y_lock *lock, int64_t until)
{
    int code = s_deadline_set(s, t, until);
    if (code < 0)
        return code;
    Py_CLEAR(t->wait.value);
    Py_INCREF((PyObject *)t);
    if (!take_or_queue(t, lock, 1))
        return S_OK;
    s_deadline_drop(s, t);
    t->wait.value = Py_NewRef(Py_True);
    s_ready(s, t);
    return S_OK;
}

int y_lock_restore(y_lock *lock, const s_tasklet *holder)
{
    c_lock_take(&lock->guard);
    int held = lock->held;
    if (!held) {
        lock->held = 1;
        lock->holder = holder->id;
    }
    c_lock_give(&lock->guard);
    return held ? S_E_SNAPSHOT : S_OK;
}

int y_lock_release(s_sched *s, y_lock *lock)
{
    c_lock_take(&lock->guard);
    int held = lock->held;
    b_link *first = held ? b_first(&lock->waiters) : NULL;
    s_tasklet *next = first != NULL ? s_dequeue(first) : NULL;
    if (next == NULL)
        lock->held = 0;
    else
        lock->holder = next->id;
    c_lock_give(&lock->guard);
    if (!held)
        return S_E_FREE;
    if (next != NULL) {
        int here = next->owner == s;
        next->wait.value = Py_NewRef(Py_True);
        s_wake(s, next);
        if (here)
            next->kind = &given;
    }
    return S_OK;
}

int y_lock_visit(y_lock *lock, visitproc visit, void *arg)
{
    for (b_link *at = lock->waiters.next; at != NULL && at != &lock->waiters; at = at->next)
        Py_VISIT(B_CONTAINER(at, s_wait, link)->task);
    return 0;
}

void y_lock_clear(y_lock *lock)
{
    s_forget_waiters(&lock->waiters);
}
