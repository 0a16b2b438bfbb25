/* What the types of gates share: see gate.h.
 *
 * _own_method() is for their subclasses in Python.  The interpreter calls a method of C by a short
 * way if the object's type is that of the method; an inherited one it always calls by the long way,
 * which takes as long as the rest of acquire(). */
#include "bind/native/gate.h"

#define SELF ((y_gate *)self)

int bind_read_acquire(s_sched *s, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                      int may_be_over, int64_t *until)
{
    PyObject *blocking = nargs > 0 ? args[0] : NULL, *timeout = nargs > 1 ? args[1] : NULL;
    Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        if (PyUnicode_CompareWithASCIIString(name, "blocking") == 0 && blocking == NULL)
            blocking = args[nargs + i];
        else if (PyUnicode_CompareWithASCIIString(name, "timeout") == 0 && timeout == NULL)
            timeout = args[nargs + i];
        else
            nargs = 3;
    }
    if (nargs > 2) {
        PyErr_SetString(PyExc_TypeError, "acquire() takes blocking=True and timeout");
        return -1;
    }
    int wait = blocking ? PyObject_IsTrue(blocking) : 1;
    int64_t nanoseconds = 0;
    double seconds = timeout != NULL && timeout != Py_None ? PyFloat_AsDouble(timeout) : -1;
    if (wait < 0 || (seconds == -1 && PyErr_Occurred()))
        return -1;
    *until = wait ? S_FOREVER : INT64_MIN;
    if (timeout == NULL || timeout == Py_None || (seconds == -1 && !may_be_over))
        return 0;
    if (!wait || (seconds < 0 && !may_be_over)) {
        PyErr_SetString(PyExc_ValueError, wait ? "timeout value must be a non-negative number"
                                               : "can't specify a timeout for a non-blocking call");
        return -1;
    }
    if (seconds < 0) {
        *until = INT64_MIN;
        return 0;
    }
    if (bind_read_seconds(timeout, &nanoseconds) < 0)
        return -1;
    *until = s_now(s) + nanoseconds;
    return 0;
}

int bind_gate_traverse(PyObject *self, visitproc visit, void *arg)
{
    return y_gate_visit(SELF, visit, arg);
}

int bind_gate_clear(PyObject *self)
{
    y_gate_clear(SELF);
    return 0;
}

void bind_gate_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    if (SELF->weakrefs != NULL)
        PyObject_ClearWeakRefs(self);
    y_gate_clear(SELF);
    Py_TYPE(self)->tp_free(self);
}

/* _own_method(type, method): the method of C that `type` inherits, as if `type` had defined it. */
static PyObject *gate_own_method(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (bind_check_count("_own_method", nargs, 2) < 0)
        return NULL;
    if (!PyType_Check(args[0]) || !Py_IS_TYPE(args[1], &PyMethodDescr_Type) ||
        !PyType_IsSubtype((PyTypeObject *)args[0], PyDescr_TYPE(args[1])))
        return PyErr_Format(PyExc_TypeError, "expected a type and a method of a base, found %R, %R",
                            args[0], args[1]);
    return PyDescr_NewMethod((PyTypeObject *)args[0], ((PyMethodDescrObject *)args[1])->d_method);
}

PyMethodDef bind_gate_functions[] = {
    {"_own_method", BIND_FN(gate_own_method), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
