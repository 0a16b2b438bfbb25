/* What all gates do without waiting.  See gate.h. */
#include "sync/gate.h"

void y_gate_init(y_gate *gate)
{
    b_list_init(&gate->waiters);
}

int y_visit_waiters(const b_link *waiters, visitproc visit, void *arg)
{
    for (b_link *at = waiters->next; at != NULL && at != waiters; at = at->next)
        Py_VISIT(B_CONTAINER(at, s_wait, link)->task);
    return 0;
}

int y_gate_visit(y_gate *gate, visitproc visit, void *arg)
{
    return y_visit_waiters(&gate->waiters, visit, arg);
}

void y_let_all_pass(s_sched *s, b_link *claimed)
{
    for (b_link *at; (at = b_first(claimed)) != NULL;) {
        s_tasklet *t = s_of_link(at);
        b_unlink(at);
        y_let_pass(s, t);
    }
}

void y_gate_clear(y_gate *gate)
{
    s_forget_waiters(&gate->waiters);
}
