/* Reading arguments: what the functions of several types share. */
#ifndef LOOMLET_BIND_ARGUMENTS_H
#define LOOMLET_BIND_ARGUMENTS_H

#include "sched/sched.h"

/* The deadline for an optional `timeout` in seconds, the argument number `at` or given by name. */
int bind_read_timeout(s_sched *s, const char *function, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *kwnames, Py_ssize_t at, int64_t *until);
/* The deadline for a timeout in seconds; none for None or NULL. */
int bind_read_deadline(s_sched *s, PyObject *timeout, int64_t *until);
/* Seconds (int or float) as nanoseconds, at least 0; -1 with an exception set. */
int bind_read_seconds(PyObject *value, int64_t *nanoseconds);
/* 0 when exactly `want` positional arguments were given. */
int bind_check_count(const char *function, Py_ssize_t nargs, Py_ssize_t want);
/* 0 when not more than `most` were given. */
int bind_check_most(const char *function, Py_ssize_t nargs, Py_ssize_t most);

/* tp_new of a type whose objects are made without arguments. */
PyObject *bind_new_empty(PyTypeObject *type, PyObject *args, PyObject *kwargs);

/* Fills `values`, preset with the defaults, from positional and keyword arguments; the first
 * `needed` of `names` (NULL at the end) must be given. */
int bind_parse_arguments(const char *function, const char *const *names, int needed,
                         PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                         PyObject **values);

static inline Py_ssize_t bind_argument_count(Py_ssize_t nargs, PyObject *kwnames)
{
    return nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
}

/* A new tuple of these objects. */
static inline PyObject *bind_make_tuple(PyObject *const *items, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(items[i]));
    return tuple;
}

/* An exception: cls(), cls(*value), cls(value), or `value` itself if it is one of the class. */
PyObject *bind_make_exception(PyObject *cls, PyObject *value);

#endif
