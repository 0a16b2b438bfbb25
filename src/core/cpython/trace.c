/* Trace and profile functions as part of a tasklet.
 *
 * The thread state holds them in four fields; a switch swaps these and nothing else.  From 3.12 on
 * the interpreter counts how many thread states have a trace function, and emits events while there
 * are any, which a thread without one ignores.  We never touch that count: functions are set and
 * removed through the interpreter's own calls only, always while their fields are in the thread
 * state.  So the interpreter counts tasklets as it counts threads.
 *
 * What sys.settrace() puts into the fields is one C function with the callable as its object.  C
 * code (a coverage tool) may put in another function, with an object that often belongs to one
 * thread of control: the stack of its open calls.  So a new tasklet takes over a callable as it is.
 * In place of C code's function it begins with what the program has for new threads
 * (threading.settrace), if there is such a thing.
 *
 * 3.11 keeps a mark for them on the C stack too, which is set anew whenever a stack is entered;
 * while we stay on the same stack, it is set here.
 */
#include "cpython/layout.h"

static void *function_in(PyThreadState *ts, int which)
{
    return which == C_TRACE ? (void *)c_trace_function(ts) : (void *)ts->c_profilefunc;
}

void c_trace_swap(PyThreadState *ts, c_trace *kept)
{
    c_trace mine = {{function_in(ts, C_TRACE), function_in(ts, C_PROFILE)},
                    {ts->c_traceobj, ts->c_profileobj}};
    c_trace_set_function(ts, (Py_tracefunc)kept->function[C_TRACE]);
    ts->c_profilefunc = (Py_tracefunc)kept->function[C_PROFILE];
    ts->c_traceobj = kept->object[C_TRACE];
    ts->c_profileobj = kept->object[C_PROFILE];
    *kept = mine;
    thread_mark_tracing(ts);
}

int c_trace_is_set(PyThreadState *ts)
{
    return ((uintptr_t)function_in(ts, C_TRACE) | (uintptr_t)ts->c_profilefunc) != 0;
}

int c_trace_by_profiler(PyThreadState *ts)
{
    return thread_is_profiled(ts);
}

int c_trace_running(PyThreadState *ts)
{
    return ts->tracing != 0;
}

PyObject *c_trace_object(PyThreadState *ts, int which)
{
    return which == C_TRACE ? ts->c_traceobj : ts->c_profileobj;
}

int c_trace_set(PyThreadState *ts, int which, PyObject *callable)
{
    PyObject *sys = PyImport_ImportModule("sys");
    PyObject *set = sys ? c_function_find(sys, which == C_TRACE ? "settrace" : "setprofile") : NULL;
    PyObject *done = set ? PyCFunction_GET_FUNCTION(set)(NULL, callable) : NULL;
    if (set == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "loomlet finds no sys.settrace in this interpreter");
    c_trace_changed(ts);
    Py_XDECREF(set);
    Py_XDECREF(sys);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

void c_trace_remove(PyThreadState *ts)
{
    if (function_in(ts, C_TRACE) != NULL)
        PyEval_SetTrace(NULL, NULL);
    if (function_in(ts, C_PROFILE) != NULL)
        PyEval_SetProfile(NULL, NULL);
    c_trace_changed(ts);
}

/* What threading.settrace() or threading.setprofile() was given: new, or NULL without one. */
static PyObject *threading_hook(int which)
{
    PyObject *name = PyUnicode_FromString("threading");
    PyObject *threading = name ? PyImport_GetModule(name) : NULL;
    PyObject *hook =
        threading
            ? PyObject_GetAttrString(threading, which == C_TRACE ? "_trace_hook" : "_profile_hook")
            : NULL;
    Py_XDECREF(threading);
    Py_XDECREF(name);
    PyErr_Clear();
    if (hook == Py_None)
        Py_CLEAR(hook);
    return hook;
}

/* The thread state has none: it gets what a tasklet begins with whose spawner has these. */
static int begin_with(PyThreadState *ts, int which, const c_trace *spawner)
{
    PyObject *object = spawner->object[which];
    if (object != NULL) {
        if (c_trace_set(ts, which, object) < 0)
            return -1;
        if (function_in(ts, which) == spawner->function[which])
            return 0;
    }
    PyObject *hook = threading_hook(which);
    if (hook != NULL) {
        int code = c_trace_set(ts, which, hook);
        Py_DECREF(hook);
        return code;
    }
    Py_tracefunc function = (Py_tracefunc)spawner->function[which];
    if (which == C_TRACE)
        PyEval_SetTrace(function, object);
    else
        PyEval_SetProfile(function, object);
    return 0;
}

int c_trace_inherit(PyThreadState *ts, c_trace *copy)
{
    c_trace spawner = {{NULL}};
    int code = 0;
    c_trace_swap(ts, &spawner);
    for (int which = C_TRACE; which <= C_PROFILE; which++) {
        if (code == 0 && spawner.function[which] != NULL)
            code = begin_with(ts, which, &spawner);
    }
    c_trace_swap(ts, copy);
    c_trace_swap(ts, &spawner);
    c_trace_changed(ts);
    return code;
}

PyObject *c_function_find(PyObject *module, const char *name)
{
    PyModuleDef *def = PyModule_Check(module) ? PyModule_GetDef(module) : NULL;
    for (PyMethodDef *at = def != NULL ? def->m_methods : NULL; at && at->ml_name; at++) {
        if (strcmp(at->ml_name, name) == 0)
            return PyCFunction_New(at, module);
    }
    return NULL;
}

PyCFunction c_function_swap(PyObject *function, int flags, PyCFunction replacement)
{
    if (function == NULL || !PyCFunction_Check(function))
        return NULL;
    PyMethodDef *def = ((PyCFunctionObject *)function)->m_ml;
    PyCFunction original = def->ml_flags == flags ? def->ml_meth : NULL;
    if (original != NULL)
        def->ml_meth = replacement;
    return original;
}
