/* What a snapshot holds of scopes: their settings, and which of them a tasklet has entered.
 *
 * Deadlines are kept as the time that is left, because the clock of another process differs.
 */
#include "sched/guests/scope.h"

void s_scope_read(s_sched *s, const s_scope *scope, s_scope_snapshot *snapshot)
{
    int64_t left = scope->timer.node.when;
    if (left != S_FOREVER && !scope->relative)
        left = left > s_now(s) ? left - s_now(s) : 0;
    *snapshot = (s_scope_snapshot){.left = left,
                                   .state = scope->state,
                                   .relative = scope->relative,
                                   .called = scope->called,
                                   .expired = scope->expired,
                                   .caught = scope->caught,
                                   .shield = scope->shield};
}

void s_scope_restore(s_sched *s, s_scope *scope, const s_scope_snapshot *snapshot)
{
    int counts = snapshot->left != S_FOREVER && !snapshot->relative;
    scope->timer.node.when = snapshot->left + (counts ? s_now(s) : 0);
    scope->relative = (unsigned char)snapshot->relative;
    scope->called = (unsigned char)snapshot->called;
    scope->expired = (unsigned char)snapshot->expired;
    scope->caught = (unsigned char)snapshot->caught;
    scope->shield = (unsigned char)snapshot->shield;
    if (snapshot->state == S_SCOPE_LEFT)
        scope->state = S_SCOPE_LEFT;
}

PyObject *s_scope_list(const s_tasklet *t, s_scope **group)
{
    PyObject *entered = PyList_New(0);
    s_scope *at = (s_scope *)t->scope;
    for (; entered != NULL && at != NULL && at->task == t; at = at->parent)
        if (PyList_Append(entered, (PyObject *)at) < 0)
            Py_CLEAR(entered);
    *group = t->owned ? at : NULL;
    if (entered != NULL && PyList_Reverse(entered) < 0)
        Py_CLEAR(entered);
    return entered;
}
