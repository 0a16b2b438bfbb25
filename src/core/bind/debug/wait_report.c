/* What loomlet calls so that waits without an end are reported: see debug/ring_report.c and
 * debug/aside_report.c. */
#include "bind/debug/debug_socket.h"
#include "debug/debug.h"

static PyObject *of_ring, *of_aside;

static void call_report(PyObject *function, PyObject *tasklets)
{
    PyObject *done = PyObject_CallOneArg(function, tasklets);
    if (done == NULL)
        PyErr_WriteUnraisable(function);
    Py_XDECREF(done);
}

static void pass_ring_on(PyObject *tasklets)
{
    call_report(of_ring, tasklets);
}

static void pass_aside_on(PyObject *tasklets)
{
    call_report(of_aside, tasklets);
}

/* _set_wait_callbacks(ring, aside): they are called with each new ring, a list of tasklets, and
 * with a list of one that sits in C and of those that wait for its thread. */
static PyObject *set_wait_callbacks(PyObject *module, PyObject *args)
{
    PyObject *ring, *aside;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO:_set_wait_callbacks", &ring, &aside))
        return NULL;
    Py_XSETREF(of_ring, Py_NewRef(ring));
    Py_XSETREF(of_aside, Py_NewRef(aside));
    d_report_ring = pass_ring_on;
    d_report_aside = pass_aside_on;
    Py_RETURN_NONE;
}

PyMethodDef bind_wait_report_functions[] = {
    {"_set_wait_callbacks", set_wait_callbacks, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
