/* From error codes to exceptions: see errors.c. */
#ifndef LOOMLET_BIND_ERRORS_H
#define LOOMLET_BIND_ERRORS_H

#include "sched/sched.h"

/* Raises the exception for a negative code; `about` is the object it concerns. */
PyObject *bind_fail(int code, PyObject *about);

/* How every call that returns an object ends: passes the object on, or raises with `fail`. */
static inline PyObject *bind_result_by(PyObject *(*fail)(int code, PyObject *about),
                                       PyObject *result, int code, PyObject *about)
{
    return result != NULL || code >= 0 || code == S_E_SET ? result : fail(code, about);
}

static inline PyObject *bind_result(PyObject *result, int code, PyObject *about)
{
    return bind_result_by(bind_fail, result, code, about);
}

int bind_is_cancelled(PyObject *exception);

/* Notes in a TaskletExit (other exceptions: nothing) that the running code is about to throw it
 * into another tasklet: where that code is, and whether it is outside of the victim's group.  0 or
 * -1. */
int bind_mark_kill(s_sched *s, s_tasklet *victim, PyObject *error);

extern PyMethodDef bind_error_functions[];
/* ERROR_CODES: the number of each code by its name. */
int bind_add_error_codes(PyObject *module);

#endif
