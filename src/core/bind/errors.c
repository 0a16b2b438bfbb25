/* The one place where an error code becomes a Python exception.
 *
 * The texts are written in Python (loomlet.errors.make), because they need not be fast.  Until that
 * module has handed its functions down, the exception is a plain RuntimeError.
 */
#include "bind/errors.h"
#include "sched/guests/thread_identity.h"

static PyObject *make_error, *report_failure, *warn_abandoned, *exit_types;
/* The exit exception of another API: see bind_add_exit(). */
static PyObject *added_exit;
static int (*added_exit_applies)(const s_tasklet *t);

static PyObject *cancelled_type(void)
{
    return exit_types ? PyTuple_GET_ITEM(exit_types, 1) : NULL;
}

int bind_is_cancelled(PyObject *exception)
{
    return exit_types != NULL && PyErr_GivenExceptionMatches(exception, cancelled_type());
}

/* Cancelled is made without running Python code: a signal handler could run there, and its
 * exception would replace it. */
static PyObject *new_error(int code, PyObject *about)
{
    if (code == S_E_CANCELLED && exit_types != NULL)
        return PyObject_CallNoArgs(cancelled_type());
    if (code == S_E_KILLED && added_exit != NULL && added_exit_applies((s_tasklet *)about))
        return PyObject_CallNoArgs(added_exit);
    if (make_error == NULL) {
        PyErr_Format(PyExc_RuntimeError, "loomlet: error %d before loomlet was imported", code);
        return NULL;
    }
    PyObject *error = PyObject_CallFunction(make_error, "iO", code, about ? about : Py_None);
    if (error != NULL && !PyExceptionInstance_Check(error)) {
        Py_DECREF(error);
        PyErr_SetString(PyExc_TypeError, "loomlet: the error hook must return an exception");
        return NULL;
    }
    return error;
}

PyObject *bind_fail(int code, PyObject *about)
{
    if (code == S_E_SET)
        return NULL;
    if (code == S_E_MEMORY)
        return PyErr_NoMemory();
    PyObject *error = new_error(code, about);
    if (error != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return NULL;
}

static void call_hook_quietly(PyObject *function, PyObject *a, PyObject *b)
{
    if (function == NULL)
        return;
    PyObject *done = PyObject_CallFunctionObjArgs(function, a, b, NULL);
    if (done == NULL)
        PyErr_WriteUnraisable(function);
    Py_XDECREF(done);
}

/* The exception of a thread is reported the way the interpreter reports it. */
static void report_failed(s_tasklet *t, PyObject *exception)
{
    if (s_is_thread(t)) {
        PyErr_SetRaisedException(Py_NewRef(exception));
        PyErr_WriteUnraisable(t->func);
        return;
    }
    call_hook_quietly(report_failure, (PyObject *)t, exception);
}

static void report_abandoned(s_tasklet *t)
{
    call_hook_quietly(warn_abandoned, (PyObject *)t, NULL);
}

static int is_exit_exception(PyObject *exception)
{
    return (added_exit != NULL && PyErr_GivenExceptionMatches(exception, added_exit)) ||
           (exit_types != NULL && PyErr_GivenExceptionMatches(exception, exit_types));
}

void bind_add_exit(PyObject *type, int (*applies)(const s_tasklet *t))
{
    added_exit_applies = applies;
    Py_XSETREF(added_exit, Py_NewRef(type));
}

/* _set_hooks(error, failed, abandoned, (exit, cancelled)): see loomlet.errors and
 * loomlet._runtime. */
static PyObject *set_hooks(PyObject *module, PyObject *args)
{
    PyObject *error, *failure, *warning, *exits;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOO!:_set_hooks", &error, &failure, &warning, &PyTuple_Type,
                          &exits))
        return NULL;
    if (PyTuple_GET_SIZE(exits) != 2) {
        PyErr_SetString(PyExc_ValueError, "_set_hooks() takes the types (exit, cancelled)");
        return NULL;
    }
    Py_XSETREF(make_error, Py_NewRef(error));
    Py_XSETREF(report_failure, Py_NewRef(failure));
    Py_XSETREF(warn_abandoned, Py_NewRef(warning));
    Py_XSETREF(exit_types, Py_NewRef(exits));
    s_hook.error = new_error;
    s_hook.failed = report_failed;
    s_hook.abandoned = report_abandoned;
    s_hook.is_exit = is_exit_exception;
    Py_RETURN_NONE;
}

PyMethodDef bind_error_functions[] = {
    {"_set_hooks", set_hooks, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

#define NUMBER(name, text) {#name, S_E_##name},
static const struct {
    const char *name;
    int code;
} codes[] = {S_ERROR_CODES(NUMBER){"SYSTEM", S_E_SYSTEM}};

int bind_add_error_codes(PyObject *module)
{
    PyObject *numbers = PyDict_New();
    int code = numbers != NULL ? 0 : -1;
    for (size_t i = 0; code == 0 && i < sizeof(codes) / sizeof(codes[0]); i++) {
        PyObject *number = PyLong_FromLong(codes[i].code);
        code = number != NULL ? PyDict_SetItemString(numbers, codes[i].name, number) : -1;
        Py_XDECREF(number);
    }
    if (code == 0)
        code = PyModule_AddObjectRef(module, "ERROR_CODES", numbers);
    Py_XDECREF(numbers);
    return code;
}
