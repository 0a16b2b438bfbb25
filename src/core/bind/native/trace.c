/* Trace and profile functions of tasklets that do not run: the attributes by which those of a
 * Stackless tasklet are read and set, and what sets them for all threads, and so for all tasklets.
 */
#include "sched/guests/trace.h"
#include "bind/native/native.h"

PyObject *bind_get_trace(PyObject *self, void *which)
{
    PyObject *function = s_trace_of((s_tasklet *)self, which == NULL ? C_TRACE : C_PROFILE);
    return Py_NewRef(function != NULL ? function : Py_None);
}

int bind_set_trace(PyObject *self, PyObject *value, void *which)
{
    s_tasklet *t = (s_tasklet *)self;
    s_sched *s = s_self();
    PyObject *function = value != NULL ? value : Py_None;
    int kind = which == NULL ? C_TRACE : C_PROFILE;
    if (s == NULL)
        return -1;
    if (t->state == S_DONE) {
        PyErr_SetString(PyExc_RuntimeError, "tasklet is not alive");
        return -1;
    }
    if (t == s->current)
        return c_trace_set(s->ts, kind, function);
    if (t->owner != s && t->owner != NULL && t->owner->current == t) {
        PyErr_SetString(PyExc_RuntimeError, "tasklet belongs to a different thread");
        return -1;
    }
    int code = s_trace_set(s, t, kind, function);
    if (code < 0)
        bind_fail(code, self);
    return code < 0 ? -1 : 0;
}

/* ---- threading.settrace_all_threads(), threading.setprofile_all_threads() (3.12 on) --------- */

static PyCFunction originals_for_all[2];

/* The original sets that of each thread, so of the tasklet that runs there. */
static int set_for_suspended(s_sched *s, const s_sched *of, int which, PyObject *function)
{
    s_tasklet **found = NULL;
    Py_ssize_t count = s_tasklets((s_sched *)of, &found);
    int code = count < 0 ? (int)count : S_OK;
    for (Py_ssize_t i = 0; i < count; i++) {
        s_tasklet *t = found[i];
        if (code == S_OK && t->state != S_DONE && of->current != t)
            code = s_trace_set(s, t, which, function);
        Py_DECREF((PyObject *)t);
    }
    PyMem_RawFree(found);
    return code;
}

static PyObject *set_for_all(PyObject *module, PyObject *function, int which)
{
    PyObject *done = originals_for_all[which](module, function);
    s_sched *s = done != NULL ? s_self() : NULL;
    int code = s != NULL ? S_OK : S_E_SET;
    for (const s_sched *of = s_first_scheduler(); code == S_OK && of != NULL; of = of->next) {
        if (!of->ended && (of == s || !C_FREE_THREADED))
            code = set_for_suspended(s, of, which, function);
    }
    if (code == S_OK)
        return done;
    Py_XDECREF(done);
    return bind_fail(code, NULL);
}

static PyObject *set_trace_for_all(PyObject *module, PyObject *function)
{
    return set_for_all(module, function, C_TRACE);
}

static PyObject *set_profile_for_all(PyObject *module, PyObject *function)
{
    return set_for_all(module, function, C_PROFILE);
}

static void replace_for_all(PyObject *sys, const char *name, int which, PyCFunction replacement)
{
    PyObject *function = c_function_find(sys, name);
    if (function != NULL && originals_for_all[which] == NULL)
        originals_for_all[which] = c_function_swap(function, METH_O, replacement);
    Py_XDECREF(function);
}

int bind_replace_tracing(void)
{
    PyObject *sys = PyImport_ImportModule("sys");
    if (sys == NULL)
        return -1;
    replace_for_all(sys, "_settraceallthreads", C_TRACE, set_trace_for_all);
    replace_for_all(sys, "_setprofileallthreads", C_PROFILE, set_profile_for_all);
    Py_DECREF(sys);
    return PyErr_Occurred() ? -1 : 0;
}
