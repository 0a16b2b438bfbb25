/* Trace and profile functions as part of a tasklet.
 *
 * The thread state holds them in four fields; a switch swaps these and nothing else.  From 3.12 on
 * the interpreter counts how many thread states have a trace function, and emits events while there
 * are any, which a thread without one ignores.  We never touch that count: functions are set and
 * removed through the interpreter's own calls only, always while their fields are in the thread
 * state.  So the interpreter counts tasklets as it counts threads.
 *
 * 3.11 keeps a mark for them on the C stack too, which is set anew whenever a stack is entered;
 * while we stay on the same stack, it is set here.
 */
#include "cpython/layout.h"

static void *trampolines[2]; /* what sys.settrace() and sys.setprofile() put into the fields */

void c_trace_swap(PyThreadState *ts, c_trace *kept)
{
    c_trace mine = {{(void *)ts->c_tracefunc, (void *)ts->c_profilefunc},
                    {ts->c_traceobj, ts->c_profileobj}};
    ts->c_tracefunc = (Py_tracefunc)kept->function[C_TRACE];
    ts->c_profilefunc = (Py_tracefunc)kept->function[C_PROFILE];
    ts->c_traceobj = kept->object[C_TRACE];
    ts->c_profileobj = kept->object[C_PROFILE];
    *kept = mine;
    thread_mark_tracing(ts);
}

int c_trace_is_set(PyThreadState *ts)
{
    return ts->c_tracefunc != NULL || ts->c_profilefunc != NULL;
}

PyObject *c_trace_object(PyThreadState *ts, int which)
{
    return which == C_TRACE ? ts->c_traceobj : ts->c_profileobj;
}

void c_trace_remove(PyThreadState *ts)
{
    if (ts->c_tracefunc != NULL)
        PyEval_SetTrace(NULL, NULL);
    if (ts->c_profilefunc != NULL)
        PyEval_SetProfile(NULL, NULL);
}

static void *trace_function_of(PyThreadState *ts, int which)
{
    return which == C_TRACE ? (void *)ts->c_tracefunc : (void *)ts->c_profilefunc;
}

void c_trace_learn(PyThreadState *ts, int which)
{
    if (trace_function_of(ts, which) != NULL)
        trampolines[which] = trace_function_of(ts, which);
}

int c_trace_is_known(PyThreadState *ts)
{
    for (int which = C_TRACE; which <= C_PROFILE; which++) {
        if (trace_function_of(ts, which) != NULL &&
            trace_function_of(ts, which) == trampolines[which])
            return 1;
    }
    return 0;
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
