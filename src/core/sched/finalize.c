/* The finalizer of a tasklet.
 *
 * A blocked tasklet that nothing can reach is found by the collector (its queue visits it, it
 * visits its frames).  Its finalizer throws TaskletExit into it and lets it run at once, while the
 * collector's caller waits at the head of the run queue; where nothing may switch, it runs a little
 * later.  If it blocks again, the next collection drops its frames; one that keeps a C stack gets
 * TaskletExit again instead, each time.  A Stackless one that pauses itself instead of ending
 * cannot be reached by any later request: it is asked to end ten times in a row and then shown to
 * the program.
 *
 * One that keeps a C stack of a thread that has ended can neither run nor be freed: it stays.
 *
 * A Stackless tasklet that keeps no C stack is not asked to end: its frames are dropped, as in
 * Stackless.  The exception is one that waits in a native operation: native rules apply to it.
 */
#include "sched/internal.h"

#define EXITS 10 /* how often one that refuses is asked to end */

static void exit_later(s_sched *s, s_tasklet *t, PyObject *error)
{
    Py_INCREF((PyObject *)t);
    Py_XSETREF(t->error, error);
    if (t->owner == s) {
        s_ready(s, t);
    } else {
        t->state = S_BLOCKED;
        s_wake(s, t);
    }
}

/* Takes an unreachable tasklet out of whatever garbage it waits in, for an error.  0: it has to
 * wait for something else before it can raise that, and does. */
static int take_from_garbage(s_tasklet *t, PyObject *error)
{
    int detached = t->state == S_BLOCKED ? s_detach_for(t, error) : 0;
    if (detached == S_KEEPS_ERROR)
        return 0;
    t->state = S_PAUSED;
    t->kind = NULL;
    if (detached)
        Py_DECREF((PyObject *)t);
    return 1;
}

static void exit_now(s_sched *s, s_tasklet *t, PyObject *error)
{
    int code;
    Py_XDECREF(s_throw(s, t, error, S_STAY, NULL, &code));
    if (PyErr_Occurred())
        PyErr_WriteUnraisable((PyObject *)t);
}

/* Its C stack is all that keeps it. */
static int refuses_to_end(const s_tasklet *t)
{
    return t->stackless_rules && t->saved_as == S_C_STACK && t->state == S_PAUSED;
}

static void insist_on_end(s_sched *s, s_tasklet *t)
{
    PyObject *error;
    for (int asked = 1; asked < EXITS && refuses_to_end(t); asked++) {
        if ((error = s_hook.error(S_E_KILLED, (PyObject *)t)) == NULL)
            break;
        exit_now(s, t, error);
    }
    if (refuses_to_end(t))
        s_hook.refused(t);
}

/* Whether its frames are dropped without asking it to end. */
static int goes_silently(const s_tasklet *t)
{
    return t->stackless_rules && s_is_soft(t) && (t->kind == NULL || t->kind->stackless);
}

/* Steals `error`. */
static void end_garbage(s_sched *s, s_tasklet *t, PyObject *error)
{
    if (!take_from_garbage(t, error)) {
        Py_DECREF(error);
        return;
    }
    if (s_is_soft(t))
        s_adopt(s, t);
    if (s->trap || t->owner != s) {
        exit_later(s, t, error);
    } else {
        exit_now(s, t, error);
        insist_on_end(s, t);
    }
}

void s_finalize(s_tasklet *t)
{
    if (t->is_main || !t->started || !(s_is_soft(t) || t->saved_as == S_C_STACK) ||
        c_is_finalizing() || goes_silently(t))
        return;
    if (t->state == S_READY) /* the finalizer of another one has woken it */
        return;
    if (t->saved_as == S_C_STACK && t->owner->ended)
        return;
    s_sched *s = s_self();
    PyObject *pending = PyErr_GetRaisedException(), *error = NULL;
    if (s != NULL) {
        if (!t->stackless_rules)
            s_hook.abandoned(t);
        error = s_hook.error(S_E_KILLED, (PyObject *)t);
    }
    if (error == NULL) {
        PyErr_WriteUnraisable((PyObject *)t);
        PyErr_SetRaisedException(pending);
        return;
    }
    t->garbage = 1;
    end_garbage(s, t, error);
    if (t->saved_as == S_C_STACK)
        c_finalize_again((PyObject *)t);
    PyErr_SetRaisedException(pending);
}
