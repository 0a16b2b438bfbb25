/* Calling a tasklet's function, as the first one that runs in it.
 *
 * A tasklet can be suspended softly in its first activation only if no C code stands between the
 * dispatcher and the eval loop that runs the function.  So the function is called as CPython itself
 * calls a Python function, and everything that could put C code in between is looked for: another
 * vectorcall, a frame evaluation hook, keyword names whose comparison runs Python code.
 */
#include "cpython/start.h"

vectorcallfunc c_function_vectorcall(void)
{
    static vectorcallfunc found;
    if (found == NULL) {
        PyCodeObject *code = PyCode_NewEmpty("", "", 1);
        PyObject *globals = PyDict_New();
        PyObject *probe = code && globals ? PyFunction_New((PyObject *)code, globals) : NULL;
        found = probe ? ((PyFunctionObject *)probe)->vectorcall : NULL;
        PyErr_Clear();
        Py_XDECREF(probe);
        Py_XDECREF(globals);
        Py_XDECREF((PyObject *)code);
    }
    return found;
}

/* Whether no C code stays between us and the eval loop that runs `func`: a plain Python function,
 * called as CPython calls it, and no foreign code runs while its arguments are bound (a str
 * subclass may compare in Python). */
static int is_called_directly(PyThreadState *ts, PyObject *func, PyObject *kwnames)
{
    if (!PyFunction_Check(func) ||
        ((PyFunctionObject *)func)->vectorcall != c_function_vectorcall() ||
        _PyInterpreterState_GetEvalFrameFunc(ts->interp) != _PyEval_EvalFrameDefault)
        return 0;
    Py_ssize_t count = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(kwnames, i)))
            return 0;
    }
    return 1;
}

PyObject *c_start(PyThreadState *ts, c_state *state, PyObject *func, PyObject *args,
                  PyObject *kwnames)
{
    Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    size_t positional = (size_t)(PyTuple_GET_SIZE(args) - named);
    PyObject *const *items = ((PyTupleObject *)args)->ob_item;
    thread_set_c_left(ts, stack_call_budget());
    state->rest = is_called_directly(ts, func, kwnames) ? NULL : C_BELOW;
    return PyObject_Vectorcall(func, items, positional, kwnames);
}
