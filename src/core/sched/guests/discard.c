/* discard(): a suspended tasklet ends, and nothing of it runs any more.
 *
 * For one that was frozen and goes on elsewhere: its `finally` blocks belong to what goes on, so
 * they must not run here too, as kill() would have it.  Its frames are dropped, and what only they
 * refer to is destroyed; then it ends as one that is killed before it has started.
 *
 * The scopes that it is inside of are left.  A group of its may have children, whose end nobody
 * would wait for: they are discarded with it, and the children of their groups.  Either all are, or
 * one cannot be, and nothing has happened.  They are found first, outermost first, and discarded
 * from the end of that list on, so that no child's group has been left before.
 *
 * On the scheduler's own thread.  Destructors run while frames are dropped, and may do anything to
 * tasklets of the list that are still suspended; so each is looked at again, and one that cannot be
 * discarded any more is killed.
 */
#include "sched/guests/scope.h"
#include "sched/internal.h"

static int add_children(PyObject *found, const s_tasklet *t)
{
    s_scope *scope = (s_scope *)t->scope;
    int code = S_OK;
    for (; code == S_OK && scope != NULL && scope->task == t; scope = scope->parent) {
        PyObject *children = s_scope_children(scope);
        if (children == NULL ||
            PyList_SetSlice(found, PyList_GET_SIZE(found), PyList_GET_SIZE(found), children) < 0)
            code = S_E_SET;
        Py_XDECREF(children);
    }
    return code;
}

/* Adds all that are discarded with those of the list. */
static int find_all(s_sched *s, PyObject *found, s_tasklet **which)
{
    int code = S_OK;
    for (Py_ssize_t i = 0; code == S_OK && i < PyList_GET_SIZE(found); i++) {
        *which = (s_tasklet *)PyList_GET_ITEM(found, i);
        code = (*which)->state == S_DONE ? S_OK : s_may_discard(s, *which);
        if (code == S_OK)
            code = add_children(found, *which);
    }
    return code;
}

static int discard_one(s_sched *s, s_tasklet *t, PyObject *(*end)(s_sched *, s_tasklet *))
{
    if (t->state == S_DONE)
        return S_OK;
    PyObject *error = end(s, t);
    if (error == NULL)
        return S_E_SET;
    if (s_may_discard(s, t) < 0)
        return s_throw_later(s, t, error);
    s_scope_leave_all(s, t);
    return s_discard_later(s, t, error);
}

int s_discard(s_sched *s, s_tasklet *t, PyObject *(*end)(s_sched *, s_tasklet *), s_tasklet **which)
{
    s_read_inbox(s);
    PyObject *found = c_list_with((PyObject *)t);
    *which = t;
    int code = found != NULL ? find_all(s, found, which) : S_E_SET;
    for (Py_ssize_t i = found != NULL ? PyList_GET_SIZE(found) : 0; code == S_OK && i-- > 0;)
        code = discard_one(s, (s_tasklet *)PyList_GET_ITEM(found, i), end);
    Py_XDECREF(found);
    return code;
}
