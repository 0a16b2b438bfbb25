/* The interpreter's own thread handles, for a thread that is a tasklet and not an OS thread.
 *
 * A handle is an object with one pointer, to a state that is shared with the thread.  For threads
 * that it finds running, and cannot join, threading makes handles by `_make_thread_handle(ident)`.
 * A handle that a Thread has made beforehand becomes such a handle when the pointers of the two are
 * swapped.  This is tried before it is used.
 */
#include "cpython/layout.h" /* before anything that takes Python.h */

#include "cpython/builtin_thread.h"

typedef struct {
    PyObject_HEAD
    void *state;
} handle_object;

PyTypeObject *c_thread_handle_type;
static PyObject *make_handle;

int c_thread_handle_set_running(PyObject *handle, PyObject *ident)
{
    PyObject *running = PyObject_CallOneArg(make_handle, ident);
    if (running == NULL)
        return -1;
    void *state = ((handle_object *)handle)->state;
    ((handle_object *)handle)->state = ((handle_object *)running)->state;
    ((handle_object *)running)->state = state;
    Py_DECREF(running);
    return 0;
}

/* Whether handle.name() returns `expected`; 0 with an exception when it raises. */
static int method_returns(PyObject *handle, const char *name, PyObject *expected)
{
    PyObject *answer = PyObject_CallMethod(handle, name, NULL);
    Py_XDECREF(answer);
    return answer == expected;
}

static int handle_has_ident(PyObject *handle, PyObject *ident)
{
    PyObject *found = PyObject_GetAttrString(handle, "ident");
    int same = found != NULL && PyObject_RichCompareBool(found, ident, Py_EQ) > 0;
    Py_XDECREF(found);
    return same;
}

static int verify_thread_handle(void)
{
    PyObject *ident = PyLong_FromLong(3),
             *handle = PyObject_CallNoArgs((PyObject *)c_thread_handle_type);
    int right =
        (size_t)c_thread_handle_type->tp_basicsize == sizeof(handle_object) && handle != NULL &&
        ident != NULL && c_thread_handle_set_running(handle, ident) == 0 &&
        handle_has_ident(handle, ident) && method_returns(handle, "is_done", Py_False) &&
        method_returns(handle, "_set_done", Py_None) && method_returns(handle, "is_done", Py_True);
    Py_XDECREF(ident);
    Py_XDECREF(handle);
    return right;
}

int c_thread_handle_find(void)
{
    if (c_thread_handle_type != NULL)
        return 0;
    PyObject *module = PyImport_ImportModule("_thread");
    PyObject *type = module ? PyObject_GetAttrString(module, "_ThreadHandle") : NULL;
    make_handle = type ? PyObject_GetAttrString(module, "_make_thread_handle") : NULL;
    Py_XDECREF(module);
    if (module == NULL)
        return -1;
    PyErr_Clear();
    c_thread_handle_type = (PyTypeObject *)type;
    if (type == NULL || (make_handle != NULL && verify_thread_handle()))
        return 0;
    Py_CLEAR(make_handle);
    Py_CLEAR(c_thread_handle_type);
    PyErr_SetString(PyExc_RuntimeError,
                    "_thread._ThreadHandle does not behave as expected; loomlet cannot run threads "
                    "as tasklets on this interpreter");
    return -1;
}
