/* __reduce__() and __setstate__() of every type that loomlet.snapshot knows. */
#ifndef LOOMLET_BIND_PICKLING_H
#define LOOMLET_BIND_PICKLING_H

#include <Python.h>

PyObject *bind_reduce(PyObject *self, PyObject *unused);
PyObject *bind_set_state(PyObject *self, PyObject *state);

extern PyMethodDef bind_pickling_functions[];

#endif
