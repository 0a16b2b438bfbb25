/* The lock of sync.h. */
#include "sync/gate.h"

static int lock_target(const s_tasklet *t, int i, s_target *found)
{
    y_lock *lock = t->on;
    found->object = (PyObject *)lock;
    found->holder = lock->held ? lock->holder : 0;
    return i == 0;
}

/* Under the guard.  Who has it now, claimed; or NULL, and it is free. */
static s_tasklet *pass_lock_on(y_lock *lock)
{
    s_tasklet *next = y_claim_first(&lock->gate.waiters);
    if (next == NULL)
        lock->held = 0;
    else
        y_lock_give(lock, next, y_depth_after_wait(next));
    return next;
}

s_tasklet *y_lock_leave(y_lock *lock, const s_tasklet *t)
{
    return lock->held && lock->holder == t->id ? pass_lock_on(lock) : NULL;
}

void y_lock_abandon(s_sched *s, y_lock *lock, const s_tasklet *t)
{
    c_lock_take(&lock->gate.guard);
    s_tasklet *next = y_lock_leave(lock, t);
    c_lock_give(&lock->gate.guard);
    if (next != NULL)
        y_let_hold(s, next);
}

/* The lock was handed over to a tasklet that has to raise instead. */
static void give_back_lock(s_sched *s, s_tasklet *t, PyObject *unused)
{
    (void)unused;
    y_lock_abandon(s, t->on, t);
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
    if (lock->held && lock->reentrant && lock->holder == t->id) {
        lock->depth++;
        return 1;
    }
    if (lock->held)
        return 0;
    y_lock_give(lock, t, 1);
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

int y_lock_restore(y_lock *lock, const s_tasklet *holder, uint32_t depth)
{
    c_lock_take(&lock->gate.guard);
    int held = lock->held;
    if (!held)
        y_lock_give(lock, holder, depth);
    c_lock_give(&lock->gate.guard);
    return held ? S_E_SNAPSHOT : S_OK;
}

/* Under the guard: it is released, or handed over to *next. */
static int release_lock(const s_sched *s, y_lock *lock, s_tasklet **next)
{
    if (!lock->held)
        return S_E_FREE;
    if (lock->reentrant && lock->holder != s->current->id)
        return S_E_FOREIGN;
    if (lock->reentrant && --lock->depth > 0)
        return S_OK;
    *next = pass_lock_on(lock);
    return S_OK;
}

int y_lock_release(s_sched *s, y_lock *lock)
{
    s_tasklet *next = NULL;
    c_lock_take(&lock->gate.guard);
    int code = release_lock(s, lock, &next);
    c_lock_give(&lock->gate.guard);
    if (next != NULL)
        y_let_hold(s, next);
    return code;
}

void y_lock_after_fork(s_sched *s, y_lock *lock)
{
    s_tasklet *next;
    do
        next = pass_lock_on(lock);
    while (next != NULL && next->owner != s);
    if (next != NULL)
        y_let_hold(s, next);
}
