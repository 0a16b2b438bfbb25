/* Checks of arguments that several functions share. */
#include <math.h>

#include "bind/bind.h"

int bind_count(const char *function, Py_ssize_t nargs, Py_ssize_t want)
{
    if (nargs == want)
        return 0;
    PyErr_Format(PyExc_TypeError, "%s() takes %zd argument%s, %zd given", function, want,
                 want == 1 ? "" : "s", nargs);
    return -1;
}

int bind_seconds(PyObject *value, int64_t *nanoseconds)
{
    double seconds = PyFloat_AsDouble(value);
    if (seconds == -1.0 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "expected seconds as int or float, found %.100s",
                         Py_TYPE(value)->tp_name);
        return -1;
    }
    if (isnan(seconds)) {
        PyErr_SetString(PyExc_ValueError, "expected seconds, found NaN");
        return -1;
    }
    if (seconds < 0)
        seconds = 0;
    *nanoseconds = seconds > 9e9 ? S_FOREVER / 2 : (int64_t)(seconds * 1e9 + 0.5);
    return 0;
}

static PyObject *find_timeout(const char *function, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames, Py_ssize_t at)
{
    Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (nargs > at + 1 || nargs < at || named > (nargs == at)) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd positional argument%s and timeout=", function,
                     at, at == 1 ? "" : "s");
        return NULL;
    }
    if (named == 0)
        return nargs > at ? args[at] : Py_None;
    PyObject *name = PyTuple_GET_ITEM(kwnames, 0);
    if (PyUnicode_CompareWithASCIIString(name, "timeout") != 0) {
        PyErr_Format(PyExc_TypeError,
                     "%s() got an unexpected keyword argument '%U'; it has timeout=", function,
                     name);
        return NULL;
    }
    return args[nargs];
}

int bind_timeout(s_sched *s, const char *function, PyObject *const *args, Py_ssize_t nargs,
                 PyObject *kwnames, Py_ssize_t at, int64_t *until)
{
    int64_t nanoseconds;
    *until = S_FOREVER;
    if (nargs == at && kwnames == NULL)
        return 0;
    PyObject *timeout = find_timeout(function, args, nargs, kwnames, at);
    if (timeout == NULL)
        return -1;
    if (timeout == Py_None)
        return 0;
    if (bind_seconds(timeout, &nanoseconds) < 0)
        return -1;
    *until = s_now(s) + nanoseconds;
    return 0;
}
