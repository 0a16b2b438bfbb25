/* Ordinary pickles: __reduce__() and __setstate__() call two functions of loomlet.snapshot. */
#include "bind/pickling.h"

static PyObject *reduce, *set_state; /* Python functions, set by _set_pickling() */

/* _set_pickling(reduce, set_state): the functions that both methods call with self. */
static PyObject *set_pickling(PyObject *module, PyObject *args)
{
    PyObject *first, *second;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO:_set_pickling", &first, &second))
        return NULL;
    Py_XSETREF(reduce, Py_NewRef(first));
    Py_XSETREF(set_state, Py_NewRef(second));
    Py_RETURN_NONE;
}

PyObject *bind_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyObject_CallOneArg(reduce, self);
}

PyObject *bind_set_state(PyObject *self, PyObject *state)
{
    return PyObject_CallFunctionObjArgs(set_state, self, state, NULL);
}

PyMethodDef bind_pickling_functions[] = {
    {"_set_pickling", set_pickling, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
