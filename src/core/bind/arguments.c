/* Reading arguments: see arguments.h. */
#include <math.h>

#include "bind/arguments.h"

#define MOST_SECONDS 9000000000 /* 285 years; in nanoseconds, int64_t holds them */

int bind_check_count(const char *function, Py_ssize_t nargs, Py_ssize_t want)
{
    if (nargs == want)
        return 0;
    if (want == 0)
        PyErr_Format(PyExc_TypeError, "%s() takes no arguments (%zd given)", function, nargs);
    else if (want == 1)
        PyErr_Format(PyExc_TypeError, "%s() takes exactly one argument (%zd given)", function,
                     nargs);
    else
        PyErr_Format(PyExc_TypeError, "%s() takes exactly %zd arguments (%zd given)", function,
                     want, nargs);
    return -1;
}

int bind_check_most(const char *function, Py_ssize_t nargs, Py_ssize_t most)
{
    if (nargs <= most)
        return 0;
    PyErr_Format(PyExc_TypeError, "%s() takes at most %zd argument%s (%zd given)", function, most,
                 most == 1 ? "" : "s", nargs);
    return -1;
}

PyObject *bind_new_empty(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    if (PyTuple_GET_SIZE(args) == 0 && (kwargs == NULL || PyDict_GET_SIZE(kwargs) == 0))
        return type->tp_alloc(type, 0);
    const char *dot = strrchr(type->tp_name, '.');
    PyErr_Format(PyExc_TypeError, "%s() takes no arguments", dot ? dot + 1 : type->tp_name);
    return NULL;
}

/* An int of at most MOST_SECONDS, for which no float is made.  0: it is something else. */
static int read_whole_seconds(PyObject *value, int64_t *nanoseconds)
{
    int overflow;
    if (!PyLong_CheckExact(value))
        return 0;
    long long seconds = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow || seconds > MOST_SECONDS)
        return 0;
    *nanoseconds = seconds > 0 ? seconds * 1000000000 : 0;
    return 1;
}

int bind_read_seconds(PyObject *value, int64_t *nanoseconds)
{
    if (read_whole_seconds(value, nanoseconds))
        return 0;
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
    *nanoseconds = seconds > MOST_SECONDS ? S_FOREVER / 2 : (int64_t)(seconds * 1e9 + 0.5);
    return 0;
}

static PyObject *find_timeout_argument(const char *function, PyObject *const *args,
                                       Py_ssize_t nargs, PyObject *kwnames, Py_ssize_t at)
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

int bind_read_deadline(s_sched *s, PyObject *timeout, int64_t *until)
{
    int64_t nanoseconds;
    *until = S_FOREVER;
    if (timeout == NULL || timeout == Py_None)
        return 0;
    if (bind_read_seconds(timeout, &nanoseconds) < 0)
        return -1;
    *until = s_now(s) + nanoseconds;
    return 0;
}

int bind_read_timeout(s_sched *s, const char *function, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *kwnames, Py_ssize_t at, int64_t *until)
{
    *until = S_FOREVER;
    if (nargs == at && kwnames == NULL)
        return 0;
    PyObject *timeout = find_timeout_argument(function, args, nargs, kwnames, at);
    return timeout != NULL ? bind_read_deadline(s, timeout, until) : -1;
}

static int position_of_name(const char *const *names, PyObject *name)
{
    for (int at = 0; names[at] != NULL; at++) {
        if (PyUnicode_CompareWithASCIIString(name, names[at]) == 0)
            return at;
    }
    return -1;
}

static int take_keywords(const char *function, const char *const *names, PyObject *const *named,
                         Py_ssize_t nargs, PyObject *kwnames, PyObject **values)
{
    Py_ssize_t count = kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        int at = position_of_name(names, PyTuple_GET_ITEM(kwnames, i));
        if (at < 0 || at < nargs) {
            PyErr_Format(PyExc_TypeError,
                         at < 0 ? "%s() got an unexpected keyword argument '%U'"
                                : "%s() got multiple values for argument '%U'",
                         function, PyTuple_GET_ITEM(kwnames, i));
            return -1;
        }
        values[at] = named[i];
    }
    return 0;
}

int bind_parse_arguments(const char *function, const char *const *names, int needed,
                         PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                         PyObject **values)
{
    int most = 0;
    while (names[most] != NULL)
        most++;
    if (bind_check_most(function, bind_argument_count(nargs, kwnames), most) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < nargs; i++)
        values[i] = args[i];
    if (take_keywords(function, names, args + nargs, nargs, kwnames, values) < 0)
        return -1;
    for (int i = 0; i < needed; i++) {
        if (values[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s' (pos %d)", function,
                         names[i], i + 1);
            return -1;
        }
    }
    return 0;
}

PyObject *bind_make_exception(PyObject *cls, PyObject *value)
{
    PyObject *made;
    if (value == NULL)
        made = PyObject_CallNoArgs(cls);
    else if (PyObject_TypeCheck(value, (PyTypeObject *)cls))
        made = Py_NewRef(value);
    else if (PyTuple_Check(value))
        made = PyObject_CallObject(cls, value);
    else
        made = PyObject_CallOneArg(cls, value);
    if (made != NULL && !PyExceptionInstance_Check(made)) {
        PyErr_Format(PyExc_TypeError, "calling %R should return an exception, not %.100s", cls,
                     Py_TYPE(made)->tp_name);
        Py_CLEAR(made);
    }
    return made;
}
