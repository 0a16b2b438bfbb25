/* The event of sync.h. */
#include "sync/gate.h"

static const s_wait_kind waiting = {
    .name = "wait", .detach = y_leave_gate, .target = y_gate_target, .late = Py_False};

static int is_set(y_gate *gate, s_tasklet *t)
{
    (void)t;
    return ((y_event *)gate)->is_set;
}

PyObject *y_event_wait(s_sched *s, y_event *event, int64_t until, const c_call_site *site,
                       int *code)
{
    return y_pass(s, &event->gate, &waiting, is_set, until, site, code);
}

int y_event_wait_as(s_sched *s, s_tasklet *t, y_event *event, int64_t until)
{
    return y_pass_as(s, t, &event->gate, &waiting, is_set, until);
}

/* The waiters are claimed together: one that waits anew, after a clear(), is not among them. */
void y_event_set(s_sched *s, y_event *event)
{
    b_link claimed;
    b_list_init(&claimed);
    c_lock_take(&event->gate.guard);
    event->is_set = 1;
    for (b_link *at; (at = b_first(&event->gate.waiters)) != NULL;) {
        s_dequeue(at);
        b_append(&claimed, at);
    }
    c_lock_give(&event->gate.guard);
    s_wake_all(s, &claimed, Py_True);
}

void y_event_clear(y_event *event)
{
    c_lock_take(&event->gate.guard);
    event->is_set = 0;
    c_lock_give(&event->gate.guard);
}
