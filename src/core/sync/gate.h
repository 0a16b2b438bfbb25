/* Gates: what the waits of lock, event and semaphore have in common.
 *
 * A tasklet passes a gate at once or waits in its queue, first come, first served.  Each gate says
 * with a function when one may pass (`pass`: 1, and what that takes from the gate is taken).  Who
 * opens a gate claims waiters under `guard` and lets them pass, so none is overtaken and none is
 * woken in vain.  Invariant: while there are waiters, nobody else could pass.
 *
 * The functions are inline, with `kind` and `pass` constant: a gate costs what one written by hand
 * would.
 */
#ifndef LOOMLET_SYNC_GATE_H
#define LOOMLET_SYNC_GATE_H

#include "base/b_check.h"
#include "sync/sync.h"

static inline int y_leave_gate(s_tasklet *t)
{
    return s_leave_queue(t, &((y_gate *)t->on)->guard);
}

static inline int y_gate_target(const s_tasklet *t, int i, s_target *found)
{
    found->object = t->on;
    return i == 0;
}

static B_INLINE int y_pass_or_queue(s_tasklet *me, y_gate *gate, const s_wait_kind *kind,
                                    int (*pass)(y_gate *gate, s_tasklet *t), int wait)
{
    c_lock_take(&gate->guard);
    int passed = pass(gate, me);
    if (!passed && wait) {
        s_enqueue(me, &gate->waiters, kind, gate);
        me->owner->tasklet_waits++;
    }
    c_lock_give(&gate->guard);
    return passed;
}

/* A wait for a condition has ended otherwise than by a notification: it waits for the lock. */
extern const s_wait_kind y_condition_returning;

/* Whoever waits for a condition has taken the lock as often as it says there (condition.c). */
static inline uint32_t y_depth_after_wait(const s_tasklet *t)
{
    PyObject *value = t->wait.value;
    return value != NULL && PyLong_CheckExact(value) ? (uint32_t)labs(PyLong_AsLong(value)) : 1;
}

/* The current tasklet passes before `until` (S_FOREVER: no limit; s_now or less: without waiting).
 * Py_True; what the kind has for a wait that was too long; NULL with *code, S_E_TIMEOUT if it would
 * have to wait and must not. */
static B_INLINE PyObject *y_pass(s_sched *s, y_gate *gate, const s_wait_kind *kind,
                                 int (*pass)(y_gate *gate, s_tasklet *t), int64_t until,
                                 const c_call_site *site, int *code)
{
    s_tasklet *me = s->current;
    *code = S_OK;
    if (y_pass_or_queue(me, gate, kind, pass, 0))
        return Py_NewRef(Py_True);
    if ((*code = s_begin_wait(s, until, S_E_TIMEOUT)) < 0)
        return NULL;
    if (y_pass_or_queue(me, gate, kind, pass, 1)) {
        s_deadline_drop(s, me);
        return Py_NewRef(Py_True);
    }
    return s_suspend(s, site);
}

/* From a snapshot: a paused tasklet of this thread passes, or waits again.  0 or S_E_. */
static B_INLINE int y_pass_as(s_sched *s, s_tasklet *t, y_gate *gate, const s_wait_kind *kind,
                              int (*pass)(y_gate *gate, s_tasklet *t), int64_t until)
{
    int code = s_deadline_set(s, t, until);
    if (code < 0)
        return code;
    Py_CLEAR(t->wait.value);
    Py_INCREF((PyObject *)t);
    if (!y_pass_or_queue(t, gate, kind, pass, 1))
        return S_OK;
    s_deadline_drop(s, t);
    t->wait.value = Py_NewRef(Py_True);
    s_ready(s, t);
    return S_OK;
}

/* A claimed tasklet goes on: its wait gives `value` (stolen). */
static inline void y_let_pass_with(s_sched *s, s_tasklet *t, PyObject *value)
{
    const s_wait_kind *given = t->kind->given;
    int here = t->owner == s;
    Py_XSETREF(t->wait.value, value);
    s_wake(s, t);
    if (here)
        t->kind = given;
}

/* The same: it gives True. */
static inline void y_let_pass(s_sched *s, s_tasklet *t)
{
    y_let_pass_with(s, t, Py_NewRef(Py_True));
}

/* The same for one that has got a lock: it gives True, unless it has the lock because its wait for
 * a condition is over.  What that is to raise, if anything, is in t->error. */
static inline void y_let_hold(s_sched *s, s_tasklet *t)
{
    int returns = B_UNLIKELY(t->kind == &y_condition_returning);
    y_let_pass_with(s, t, Py_NewRef(returns ? Py_False : Py_True));
}

/* The same for the claimed ones of a list, in its order. */
void y_let_all_pass(s_sched *s, b_link *claimed);

/* The first of a queue, claimed; or NULL. */
static inline s_tasklet *y_claim_first(b_link *waiters)
{
    b_link *first = b_first(waiters);
    return first != NULL ? s_dequeue(first) : NULL;
}

/* Under the guard: a tasklet becomes the holder of a lock, which it has taken `depth` times. */
static inline void y_lock_give(y_lock *lock, const s_tasklet *t, uint32_t depth)
{
    lock->held = 1;
    lock->holder = t->id;
    lock->depth = depth;
}

/* Under the guard: `t` no longer holds the lock, if it does.  Who has it now, claimed; or NULL. */
s_tasklet *y_lock_leave(y_lock *lock, const s_tasklet *t);

extern const s_wait_kind y_queue_getting, y_queue_putting, y_queue_joining;

/* The tasklets in a queue, for the collector. */
int y_visit_waiters(const b_link *waiters, visitproc visit, void *arg);

#endif
