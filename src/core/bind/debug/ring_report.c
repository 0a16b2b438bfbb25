/* What loomlet calls so that rings of waits are reported: see debug/ring_report.c. */
#include "bind/debug/debug_socket.h"
#include "debug/debug.h"

static PyObject *report;

static void report_to_python(PyObject *tasklets)
{
    PyObject *done = PyObject_CallOneArg(report, tasklets);
    if (done == NULL)
        PyErr_WriteUnraisable(report);
    Py_XDECREF(done);
}

/* _set_ring_callback(function): it is called with each new ring, a list of tasklets. */
static PyObject *set_ring_callback(PyObject *module, PyObject *function)
{
    (void)module;
    Py_XSETREF(report, Py_NewRef(function));
    d_report_ring = report_to_python;
    Py_RETURN_NONE;
}

PyMethodDef bind_ring_functions[] = {
    {"_set_ring_callback", set_ring_callback, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
