/* run_blocking(), and the settings and figures of its thread pool for loomlet.blocking. */
#include "io/blocking.h"
#include "bind/native/native.h"

static PyObject *run_blocking(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    int code;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    if (nargs < 1 || !PyCallable_Check(args[0])) {
        PyErr_Format(PyExc_TypeError,
                     "run_blocking(func, *args, **kwargs) expected a callable, found %s",
                     nargs < 1 ? "nothing" : Py_TYPE(args[0])->tp_name);
        return NULL;
    }
    c_call_site site = BIND_SITE(module, args, bind_argument_count(nargs, kwnames), run_blocking);
    PyObject *result = i_run_blocking(s, args[0], args + 1, nargs - 1, kwnames, &site, &code);
    return bind_result(result, code, (PyObject *)s->current);
}

static int read_limit(PyObject *seconds, int64_t *nanoseconds)
{
    return seconds == Py_None ? 0 : bind_read_seconds(seconds, nanoseconds);
}

/* _pool_limits(threads, idle, exit): sets those that are not None; returns the old ones. */
static PyObject *pool_limits(PyObject *module, PyObject *args)
{
    i_blocking_limits wanted = {-1, -1, -1};
    PyObject *threads, *idle, *end;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOO:_pool_limits", &threads, &idle, &end) ||
        read_limit(idle, &wanted.idle) < 0 || read_limit(end, &wanted.exit) < 0)
        return NULL;
    if (threads != Py_None)
        wanted.threads = PyLong_AsLongLong(threads);
    if (PyErr_Occurred())
        return NULL;
    i_blocking_limits before = i_blocking_configure(wanted);
    return Py_BuildValue("(Ldd)", (long long)before.threads, (double)before.idle / 1e9,
                         (double)before.exit / 1e9);
}

/* _pool_threads() -> (number of threads, number of idle ones). */
static PyObject *pool_threads(PyObject *module, PyObject *unused)
{
    int idle;
    (void)module, (void)unused;
    int count = i_blocking_threads(&idle);
    return Py_BuildValue("(ii)", count, idle);
}

/* _pool_close(): at interpreter exit; returns how many threads have not ended. */
static PyObject *pool_close(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    int left = i_blocking_close();
    return left < 0 ? NULL : PyLong_FromLong(left);
}

PyMethodDef bind_blocking_functions[] = {
    {"run_blocking", BIND_FN(run_blocking), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("run_blocking(func, /, *args, **kwargs)\n--\n\n"
               "Calls func(*args, **kwargs) on an OS thread of a pool, in a copy of the caller's\n"
               "contextvars, while the calling tasklet waits and others run.  Returns its result\n"
               "or raises its exception.\n\n"
               "A tasklet that is killed, cancelled or out of time resumes at once; the function\n"
               "runs to its end and its outcome is dropped.  Raises RuntimeError when the system\n"
               "cannot start a thread, or the interpreter is shutting down.  Any thread.")},
    {"_pool_limits", pool_limits, METH_VARARGS, NULL},
    {"_pool_threads", pool_threads, METH_NOARGS, NULL},
    {"_pool_close", pool_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
