/* GIL priority: what loomlet.gil sets and shows. */
#include "cpython/gil.h"

#include "bind/native/native.h"
#include "patch/io_hooks.h"

/* _gil_share(millionths): see c_gil_share_set. */
static PyObject *set_gil_share(PyObject *module, PyObject *value)
{
    (void)module;
    long long millionths = PyLong_AsLongLong(value);
    if (millionths == -1 && PyErr_Occurred())
        return NULL;
    c_gil_share_set(millionths);
    Py_RETURN_NONE;
}

/* _gil_status() -> the share in millionths, how often a holder was asked, how often it was not at
 * first, and the nanoseconds of the share that were spent. */
static PyObject *read_gil_status(PyObject *module, PyObject *unused)
{
    c_gil_counts counts;
    (void)module, (void)unused;
    c_gil_counts_read(&counts);
    return Py_BuildValue("LLLL", (long long)c_gil_share(), (long long)counts.asked,
                         (long long)counts.deferred, (long long)counts.spent);
}

/* _gil_wakes() -> how often a thread that woke another one has left the GIL first. */
static PyObject *count_gil_wakes(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLongLong(c_gil_wakes());
}

/* _gil_hooks(module or None, on) -> how many words were changed: see patch_io_hooks; None: the
 * modules that are part of the interpreter. */
static PyObject *set_gil_hooks(PyObject *module, PyObject *args)
{
    PyObject *hooked;
    int on;
    (void)module;
    if (!PyArg_ParseTuple(args, "Op:_gil_hooks", &hooked, &on))
        return NULL;
    if (hooked == Py_None)
        return PyLong_FromLong(patch_io_hooks_builtin(on));
    PyModuleDef *definition = PyModule_GetDef(hooked);
    if (definition == NULL)
        return PyErr_Occurred() ? NULL : PyLong_FromLong(0);
    return PyLong_FromLong(patch_io_hooks(definition, on));
}

/* _gil_ends(): see c_gil_priority_end. */
static PyObject *end_gil_priority(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    c_gil_priority_end();
    Py_RETURN_NONE;
}

PyMethodDef bind_gil_functions[] = {
    {"_gil_share", set_gil_share, METH_O, NULL},
    {"_gil_status", read_gil_status, METH_NOARGS, NULL},
    {"_gil_hooks", set_gil_hooks, METH_VARARGS, NULL},
    {"_gil_ends", end_gil_priority, METH_NOARGS, NULL},
    {"_gil_wakes", count_gil_wakes, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
