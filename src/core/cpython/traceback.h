/* What an exception keeps alive by its traceback, and letting go of it: traceback.c. */
#ifndef LOOMLET_TRACEBACK_H
#define LOOMLET_TRACEBACK_H

#include "cpython/cpython.h"

/* The traceback of an exception, a new reference or NULL; and what it is to be, NULL for none. */
PyObject *c_traceback_of(PyObject *exception);
void c_traceback_put(PyObject *exception, PyObject *traceback);
/* Drops the variables of the ended calls that nobody can see but through `exception`, of which the
 * caller has `owned` references, and one of its traceback.  1; 0 when something was left, because
 * others refer to it or a call still runs; -1 without memory, with no exception set.  Python code
 * may run. */
int c_exception_let_go(PyObject *exception, Py_ssize_t owned);
/* A list of all exceptions that have a traceback; NULL with an exception set.  *objects: how many
 * the collector knows. */
PyObject *c_exceptions_with_traceback(Py_ssize_t *objects);

#endif
