/* sys.settrace() and sys.setprofile() per tasklet, and the attributes by which those of a Stackless
 * tasklet are read and set.
 *
 * At import the C functions behind both names are replaced.  The replacements record to which
 * tasklet the trace function belongs and call the originals.
 */
#include "sched/guests/trace.h"
#include "bind/native/native.h"

static PyCFunction originals[2];

static PyObject *set_trace_function(PyObject *module, PyObject *function, int which)
{
    s_sched *s = s_self_ != NULL && s_self_->ts == c_thread_state() ? s_self_ : NULL;
    int code = s != NULL && function != Py_None ? s_trace_prepare(s) : S_OK;
    if (code < 0)
        return bind_fail(code, NULL);
    PyObject *done = originals[which](module, function);
    if (done != NULL && function != Py_None)
        c_trace_learn(c_thread_state(), which);
    if (s != NULL)
        s_trace_update(s);
    return done;
}

static PyObject *settrace_replacement(PyObject *module, PyObject *function)
{
    return set_trace_function(module, function, C_TRACE);
}

static PyObject *setprofile_replacement(PyObject *module, PyObject *function)
{
    return set_trace_function(module, function, C_PROFILE);
}

int bind_replace_tracing(void)
{
    originals[C_TRACE] = c_function_swap(PySys_GetObject("settrace"), METH_O, settrace_replacement);
    originals[C_PROFILE] =
        c_function_swap(PySys_GetObject("setprofile"), METH_O, setprofile_replacement);
    if (originals[C_TRACE] != NULL && originals[C_PROFILE] != NULL)
        return 0;
    PyErr_SetString(PyExc_ImportError, "sys.settrace is not the interpreter's own; import loomlet "
                                       "before it is replaced");
    return -1;
}

/* ---- tasklet.trace_function, .profile_function ------------------------------------ */

static PyObject *call_original_settrace(PyObject *function)
{
    return originals[C_TRACE](NULL, function);
}

static PyObject *call_original_setprofile(PyObject *function)
{
    return originals[C_PROFILE](NULL, function);
}

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
    if (s == NULL)
        return -1;
    if (t->state == S_DONE) {
        PyErr_SetString(PyExc_RuntimeError, "tasklet is not alive");
        return -1;
    }
    if (t == s->current) {
        PyObject *done = set_trace_function(NULL, function, which == NULL ? C_TRACE : C_PROFILE);
        Py_XDECREF(done);
        return done != NULL ? 0 : -1;
    }
    if (t->owner != s && t->owner != NULL && t->owner->current == t) {
        PyErr_SetString(PyExc_RuntimeError, "tasklet belongs to a different thread");
        return -1;
    }
    int code = s_trace_set(s, t, which == NULL ? call_original_settrace : call_original_setprofile,
                           function);
    if (code < 0)
        bind_fail(code, self);
    return code < 0 ? -1 : 0;
}
