/* The semaphore of sync.h. */
#include "sync/gate.h"

/* The permit was handed over to a tasklet that has to raise instead. */
static void give_back_permit(s_sched *s, s_tasklet *t, PyObject *unused)
{
    (void)unused;
    y_semaphore_release(s, t->on, 1);
}

static const s_wait_kind given = {.name = "acquire", .refused = give_back_permit};
static const s_wait_kind acquiring = {.name = "acquire",
                                      .detach = y_leave_gate,
                                      .target = y_gate_target,
                                      .late = Py_False,
                                      .given = &given};

static int take_permit(y_gate *gate, s_tasklet *t)
{
    y_semaphore *semaphore = (y_semaphore *)gate;
    (void)t;
    if (semaphore->count == 0)
        return 0;
    semaphore->count--;
    return 1;
}

PyObject *y_semaphore_acquire(s_sched *s, y_semaphore *semaphore, int64_t until,
                              const c_call_site *site, int *code)
{
    return y_pass(s, &semaphore->gate, &acquiring, take_permit, until, site, code);
}

int y_semaphore_acquire_as(s_sched *s, s_tasklet *t, y_semaphore *semaphore, int64_t until)
{
    return y_pass_as(s, t, &semaphore->gate, &acquiring, take_permit, until);
}

/* Takes out of the queue who gets one of the permits; the rest is added to the count. */
static int claim_receivers(y_semaphore *semaphore, Py_ssize_t permits, b_link *claimed)
{
    if (permits > semaphore->most - semaphore->count)
        return S_E_FULL;
    for (b_link *at; permits > 0 && (at = b_first(&semaphore->gate.waiters)) != NULL; permits--) {
        s_dequeue(at);
        b_append(claimed, at);
    }
    semaphore->count += permits;
    return S_OK;
}

int y_semaphore_release(s_sched *s, y_semaphore *semaphore, Py_ssize_t permits)
{
    b_link claimed;
    b_list_init(&claimed);
    c_lock_take(&semaphore->gate.guard);
    int code = claim_receivers(semaphore, permits, &claimed);
    c_lock_give(&semaphore->gate.guard);
    y_let_all_pass(s, &claimed);
    return code;
}
