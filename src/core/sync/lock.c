/* The lock of sync.h. */
#include "sync/gate.h"

static int lock_target(const s_tasklet *t, int i, s_target *found)
{
    y_lock *lock = t->on;
    found->object = (PyObject *)lock;
    found->holder = lock->held ? lock->holder : 0;
    return i == 0;
}

/* The lock was handed over to a tasklet that has to raise instead: releases it. */
static void give_back_lock(s_sched *s, s_tasklet *t)
{
    y_lock *lock = t->on;
    if (lock->held && lock->holder == t->id)
        y_lock_release(s, lock);
}

static const s_wait_kind given = {.name = "acquire", .refused = give_back_lock};
static const s_wait_kind acquiring = {.name = "acquire",
                                      .detach = y_leave_gate,
                                      .target = lock_target,
                                      .late = Py_False,
                                      .given = &given};

static int take_lock(y_gate *gate, s_tasklet *t)
{
    y_lock *lock = (y_lock *)gate;
    if (lock->held)
        return 0;
    lock->held = 1;
    lock->holder = t->id;
    return 1;
}

PyObject *y_lock_acquire(s_sched *s, y_lock *lock, int64_t until, const c_call_site *site,
                         int *code)
{
    return y_pass(s, &lock->gate, &acquiring, take_lock, until, site, code);
}

int y_lock_acquire_as(s_sched *s, s_tasklet *t, y_lock *lock, int64_t until)
{
    return y_pass_as(s, t, &lock->gate, &acquiring, take_lock, until);
}

int y_lock_restore(y_lock *lock, const s_tasklet *holder)
{
    c_lock_take(&lock->gate.guard);
    int held = lock->held;
    if (!held) {
        lock->held = 1;
        lock->holder = holder->id;
    }
    c_lock_give(&lock->gate.guard);
    return held ? S_E_SNAPSHOT : S_OK;
}

int y_lock_release(s_sched *s, y_lock *lock)
{
    c_lock_take(&lock->gate.guard);
    int held = lock->held;
    b_link *first = held ? b_first(&lock->gate.waiters) : NULL;
    s_tasklet *next = first != NULL ? s_dequeue(first) : NULL;
    if (next == NULL)
        lock->held = 0;
    else
        lock->holder = next->id;
    c_lock_give(&lock->gate.guard);
    if (!held)
        return S_E_FREE;
    if (next != NULL)
        y_let_pass(s, next);
    return S_OK;
}
