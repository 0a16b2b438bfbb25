/* The readers-writer lock of sync.h.
 *
 * One queue for both: who comes passes only if nobody waits, so a writer is not overtaken by
 * readers that come later.  Readers that stand behind each other pass together.
 *
 * Invariant, under the guard: the first in the queue could not pass now.  So whatever changes the
 * lock or takes somebody out of the queue lets those pass that can: also the end of a writer's
 * wait, behind which readers may stand.
 */
#include "sync/gate.h"

static int leave_rwlock(s_tasklet *t);

static int rwlock_target(const s_tasklet *t, int i, s_target *found)
{
    const y_rwlock *lock = t->on;
    found->object = (PyObject *)t->on;
    found->holder = lock->writes ? lock->writer : 0;
    return i == 0;
}

static void give_back_reading(s_sched *s, s_tasklet *t, PyObject *unused)
{
    (void)unused;
    y_rwlock_release(s, t->on, 0);
}

static void give_back_writing(s_sched *s, s_tasklet *t, PyObject *unused)
{
    (void)unused;
    y_rwlock_release(s, t->on, 1);
}

static const s_wait_kind given_reading = {.name = "read", .refused = give_back_reading};
static const s_wait_kind given_writing = {.name = "write", .refused = give_back_writing};
static const s_wait_kind reading = {.name = "read",
                                    .detach = leave_rwlock,
                                    .target = rwlock_target,
                                    .late = Py_False,
                                    .given = &given_reading};
static const s_wait_kind writing = {.name = "write",
                                    .detach = leave_rwlock,
                                    .target = rwlock_target,
                                    .late = Py_False,
                                    .given = &given_writing};

static int begin_reading(y_rwlock *lock)
{
    if (lock->writes)
        return 0;
    lock->readers++;
    return 1;
}

static int begin_writing(y_rwlock *lock, const s_tasklet *t)
{
    if (lock->writes || lock->readers > 0)
        return 0;
    lock->writes = 1;
    lock->writer = t->id;
    return 1;
}

static int read_if_free(y_gate *gate, s_tasklet *t)
{
    (void)t;
    return b_list_empty(&gate->waiters) && begin_reading((y_rwlock *)gate);
}

static int write_if_free(y_gate *gate, s_tasklet *t)
{
    return b_list_empty(&gate->waiters) && begin_writing((y_rwlock *)gate, t);
}

/* Under the guard: those that can pass now, claimed. */
static void admit_first(y_rwlock *lock, b_link *claimed)
{
    for (b_link *at; (at = b_first(&lock->gate.waiters)) != NULL; b_append(claimed, at)) {
        s_tasklet *t = s_of_link(at);
        if (!(t->kind == &writing ? begin_writing(lock, t) : begin_reading(lock)))
            return;
        s_dequeue(at);
    }
}

static int leave_rwlock(s_tasklet *t)
{
    y_rwlock *lock = t->on;
    b_link claimed;
    b_list_init(&claimed);
    c_lock_take(&lock->gate.guard);
    int left = t->queued;
    if (left)
        s_dequeue(&t->wait.link);
    admit_first(lock, &claimed);
    c_lock_give(&lock->gate.guard);
    y_let_all_pass(t->owner, &claimed);
    return left;
}

PyObject *y_rwlock_acquire(s_sched *s, y_rwlock *lock, int writes, int64_t until,
                           const c_call_site *site, int *code)
{
    return writes ? y_pass(s, &lock->gate, &writing, write_if_free, until, site, code)
                  : y_pass(s, &lock->gate, &reading, read_if_free, until, site, code);
}

int y_rwlock_release(s_sched *s, y_rwlock *lock, int writes)
{
    b_link claimed;
    b_list_init(&claimed);
    c_lock_take(&lock->gate.guard);
    int held = writes ? lock->writes : lock->readers > 0;
    if (held && writes)
        lock->writes = 0;
    else if (held)
        lock->readers--;
    admit_first(lock, &claimed);
    c_lock_give(&lock->gate.guard);
    y_let_all_pass(s, &claimed);
    return held ? S_OK : S_E_FREE;
}

void y_rwlock_clear(y_rwlock *lock)
{
    lock->writes = 1; /* nobody is let in by the end of another one's wait */
    y_gate_clear(&lock->gate);
}
