/* What all waits of this room share: which callers may wait, until when, and for a descriptor.  See
 * patch.h.
 */
#include "patch/patch.h"

#include <errno.h>

#include "sched/guests/stackless_run.h"

s_sched *patch_scheduler(void)
{
    s_sched *s = s_self_if_any();
    if (s == NULL || s->ts != c_thread_state() || s->trap > 0 || !s_is_cooperative(s) ||
        c_trace_running(s->ts))
        return NULL;
    return s;
}

int patch_in_our_interpreter(s_sched **s)
{
    PyThreadState *ts = PyThreadState_Get();
    s_sched *mine = s_self_if_any();
    *s = mine != NULL && mine->ts == ts ? mine : NULL;
    return *s != NULL || PyThreadState_GetInterpreter(ts) == PyInterpreterState_Main();
}

s_tasklet *patch_tasklet(void)
{
    s_sched *s = s_self_if_any();
    if (s == NULL || s->ts != c_thread_state() || s->current->is_main || s->current == s->idler)
        return NULL;
    return s->current;
}

/* ---- waiting ---------------------------------------------------------------------------- */

int patch_wait(s_sched *s, int fd, unsigned what, PyObject *owner, int64_t until)
{
    int code;
    s_meet_again();
    PyObject *done = i_external_wait(s, fd, what, owner, until, &code);
    if (done == NULL) {
        patch_raise(s, code);
        return -1;
    }
    Py_DECREF(done);
    return done == Py_None ? patch_raise_errno(EBADF) : done == Py_False;
}

int patch_pause(s_sched *s, int64_t nanoseconds)
{
    int code;
    s_meet_again();
    PyObject *done = s_sleep(s, nanoseconds, NULL, &code);
    if (done == NULL)
        patch_raise(s, code);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

/* ---- errors ------------------------------------------------------------------------------ */

PyObject *patch_raise(s_sched *s, int code)
{
    if (code >= 0 || code == S_E_SET)
        return NULL;
    if (code == S_E_MEMORY)
        return PyErr_NoMemory();
    PyObject *error = s_hook.error(code, (PyObject *)s->current);
    if (error != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return NULL;
}

int patch_raise_errno(int error)
{
    errno = error;
    PyErr_SetFromErrno(PyExc_OSError);
    return -1;
}
