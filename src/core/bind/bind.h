/* The border between Python and the core: argument checks, types, exceptions.
 *
 * One file per Python type and no logic: each function checks what it was given,
 * says how it was called (the call site, from which the core tells whether it may
 * suspend softly), calls the core, and turns an error code into an exception.
 * Blocking functions are METH_FASTCALL, so that the arguments' address shows
 * where in the caller's frame they lie.
 */
#ifndef LOOMLET_BIND_H
#define LOOMLET_BIND_H

#include "chan/chan.h"
#include "sched/sched.h"

#define BIND_FN(f) ((PyCFunction)(void (*)(void))(f))
#define BIND_SITE(self, args, nargs, f) {(PyObject *)(self), (args), (nargs), (void *)(f), C_CALL}

extern PyTypeObject bind_tasklet_type, bind_channel_type, bind_lock_type, bind_timer_type;
extern PyTypeObject bind_scope_type, bind_timeout_type, bind_group_type;
extern const c_with bind_lock_with;

#define bind_is_tasklet(o) PyObject_TypeCheck((o), &bind_tasklet_type)
#define bind_is_channel(o) PyObject_TypeCheck((o), &bind_channel_type)

/* ---- errors.c ------------------------------------------------------------- */

/* Raises the exception for a negative code; `about` is the object it concerns. */
PyObject *bind_fail(int code, PyObject *about);
/* The end of every core call that returns an object: passes it on or raises. */
static inline PyObject *bind_result(PyObject *result, int code, PyObject *about)
{
    return result != NULL || code >= 0 || code == S_E_SET ? result : bind_fail(code, about);
}
int bind_is_cancelled(PyObject *exception);
/* _set_hooks(error, failed, abandoned, (exit, cancelled)): see loomlet.errors and loomlet.runtime.
 */
PyObject *bind_set_hooks(PyObject *module, PyObject *args);

/* ---- arguments.c ------------------------------------------------------------ */

/* The deadline for an optional `timeout` in seconds at place `at` or by name. */
int bind_timeout(s_sched *s, const char *function, PyObject *const *args, Py_ssize_t nargs,
                 PyObject *kwnames, Py_ssize_t at, int64_t *until);
/* Seconds (int or float) as nanoseconds, at least 0; -1 with an exception set. */
int bind_seconds(PyObject *value, int64_t *nanoseconds);
/* 0 when exactly `want` positional arguments were given. */
int bind_count(const char *function, Py_ssize_t nargs, Py_ssize_t want);

static inline Py_ssize_t bind_slots(Py_ssize_t nargs, PyObject *kwnames)
{
    return nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
}

/* ---- functions.c, select.c, inspect.c: the module's functions ------------------ */

extern PyMethodDef bind_functions[], bind_inspect_functions[];
PyObject *bind_select(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

#endif
