/* The exceptions of the Stackless API for error codes.
 *
 * Programs and their tests compare the texts, so they are those of Stackless to the letter, with
 * capitals and full stops.  A code without a text here can only come from an extension of loomlet,
 * and raises loomlet's own exception.  A text that only one method raises stands in that method.
 */
#include <string.h>

#include "bind/stackless/stackless.h"

typedef struct {
    int code;
    PyObject **type;
    const char *text;
} error_text;

static const error_text texts[] = {
    {S_E_TRAPPED, &PyExc_RuntimeError, "switch_trap"},
    {S_E_BLOCK_TRAP, &PyExc_RuntimeError, "this tasklet does not like to be blocked."},
    {S_E_RECURSIVE, &PyExc_RuntimeError, "Recursive channel call due to callbacks!"},
    {S_E_CLOSED, &PyExc_ValueError, "Send/receive operation on a closed channel"},
    {S_E_LAST, &PyExc_RuntimeError, "Deadlock: the last runnable tasklet cannot be blocked."},
    {S_E_NO_SENDER, &PyExc_RuntimeError,
     "the main tasklet is receiving without a sender available."},
    {S_E_NO_RECEIVER, &PyExc_RuntimeError,
     "the main tasklet is sending without a receiver available."},
    {S_E_BLOCKED, &PyExc_RuntimeError, "You cannot run a blocked tasklet"},
    {S_E_DEAD, &PyExc_RuntimeError, "You cannot run an unbound(dead) tasklet"},
    {S_E_CURRENT, &PyExc_RuntimeError, "The current tasklet cannot be removed."},
    {S_E_THREAD, &PyExc_RuntimeError, "can't switch to a different thread."},
    {S_E_STUCK, &PyExc_RuntimeError, "tasklet has C state on its stack"},
    {S_E_UNBOUND, &PyExc_RuntimeError, "the tasklet was not bound to a function"},
    {S_E_ALIVE, &PyExc_RuntimeError, "tasklet is alive"},
};

static const error_text *find_text(int code)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].code == code)
            return &texts[i];
    }
    return NULL;
}

PyObject *bind_stackless_error(int code)
{
    const error_text *found = find_text(code);
    if (found == NULL)
        return s_hook.error(code, NULL);
    return PyObject_CallFunction(*found->type, "s", found->text);
}

PyObject *bind_stackless_fail(int code, PyObject *about)
{
    const error_text *found = find_text(code);
    if (found == NULL)
        return bind_fail(code, about);
    PyErr_SetString(*found->type, found->text);
    return NULL;
}

int bind_read_flag(PyObject *value, const char *refusal)
{
    if (value != NULL && PyLong_Check(value))
        return PyObject_IsTrue(value);
    PyErr_SetString(PyExc_TypeError, refusal);
    return -1;
}

PyObject *bind_stackless_exception(PyObject *exc, PyObject *value, PyObject *traceback)
{
    PyObject *error = NULL;
    value = value == Py_None ? NULL : value;
    traceback = traceback == Py_None ? NULL : traceback;
    if (traceback != NULL && !PyTraceBack_Check(traceback))
        PyErr_SetString(PyExc_TypeError, "third argument must be a traceback object");
    else if (PyExceptionClass_Check(exc))
        error = bind_make_exception(exc, value);
    else if (!PyExceptionInstance_Check(exc))
        PyErr_Format(PyExc_TypeError, "exceptions must be classes, or instances, not %s",
                     Py_TYPE(exc)->tp_name);
    else if (value != NULL)
        PyErr_SetString(PyExc_TypeError, "instance exception may not have a separate value");
    else
        error = Py_NewRef(exc);
    if (error != NULL && traceback != NULL)
        PyException_SetTraceback(error, traceback);
    return error;
}

PyObject *bind_exception_to_raise(const char *method, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs < 1)
        return PyErr_Format(PyExc_TypeError, "%s() takes at least 1 argument",
                            strchr(method, '.') + 1);
    if (!PyExceptionClass_Check(args[0]))
        return PyErr_Format(PyExc_TypeError,
                            "%s needs Exception or string subclass as first parameter", method);
    PyObject *made = PyObject_Vectorcall(args[0], args + 1, (size_t)nargs - 1, NULL);
    PyObject *error = made != NULL ? bind_stackless_exception(made, Py_None, Py_None) : NULL;
    Py_XDECREF(made);
    return error;
}
