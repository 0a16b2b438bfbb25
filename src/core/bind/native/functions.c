/* Functions of loomlet: spawn, schedule, sleep, select, current, now; and those behind run(). */
#include "bind/native/native.h"
#include "sched/guests/scope.h"

PyObject *bind_spawn(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    (void)module;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    if (nargs < 1 || !PyCallable_Check(args[0])) {
        PyErr_Format(PyExc_TypeError, "spawn(func, *args, **kwargs) expected a callable, found %s",
                     nargs < 1 ? "nothing" : Py_TYPE(args[0])->tp_name);
        return NULL;
    }
    PyObject *items = bind_make_tuple(args + 1, bind_argument_count(nargs, kwnames) - 1);
    if (items == NULL)
        return NULL;
    int code;
    s_tasklet *t = s_spawn(s, args[0], items, kwnames, &code);
    Py_DECREF(items);
    return bind_result((PyObject *)t, code, NULL);
}

static PyObject *native_schedule(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    s_sched *s = s_self();
    if (s == NULL || (nargs != 0 && bind_check_count("schedule", nargs, 0) < 0))
        return NULL;
    int code = s_may_block(s);
    if (code < 0)
        return bind_fail(code, (PyObject *)s->current);
    c_call_site site = BIND_SITE(module, args, nargs, native_schedule);
    return s_schedule(s, &site);
}

static PyObject *native_sleep(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    int64_t nanoseconds;
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("sleep", nargs, 1) < 0 ||
        bind_read_seconds(args[0], &nanoseconds) < 0)
        return NULL;
    c_call_site site = BIND_SITE(module, args, nargs, native_sleep);
    PyObject *done = s_sleep(s, nanoseconds, &site, &code);
    return bind_result(done, code, (PyObject *)s->current);
}

/* _pause(): stops the running tasklet until it is inserted. */
static PyObject *native_pause(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("_pause", nargs, 0) < 0)
        return NULL;
    c_call_site site = BIND_SITE(module, args, nargs, native_pause);
    PyObject *done = s_pause(s, &site, &code);
    return bind_result(done, code, (PyObject *)s->current);
}

static PyObject *native_current(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    return s ? Py_NewRef((PyObject *)s->current) : NULL;
}

static PyObject *native_now(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    return s ? PyFloat_FromDouble((double)s_now(s) / 1e9) : NULL;
}

/* _run_begin(): marks the scheduler as inside run(); S_E_NESTED inside one. */
static PyObject *native_run_begin(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    if (s->running || !s->current->is_main)
        return bind_fail(S_E_NESTED, (PyObject *)s->current);
    s->running = 1;
    Py_RETURN_NONE;
}

/* _run_end(): ends every other tasklet of the thread and leaves run(). */
static PyObject *native_run_end(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    s->current->cancelled = 0;
    int code = s_kill_all(s);
    s->current->cancelled = (unsigned char)s_scope_effective((s_scope *)s->current->scope);
    s->running = 0;
    return code < 0 ? bind_fail(code, (PyObject *)s->current) : Py_NewRef(Py_None);
}

PyMethodDef bind_native_functions[] = {
    {"spawn", BIND_FN(bind_spawn), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("spawn(func, /, *args, **kwargs)\n--\n\n"
               "Makes a tasklet that calls func(*args, **kwargs) and puts it at the tail of the\n"
               "calling thread's run queue; the caller continues.  Returns the Tasklet.\n\n"
               "It gets a copy of the caller's contextvars.  An exception that ends it and that\n"
               "no join() receives goes to the error handler.")},
    {"schedule", BIND_FN(native_schedule), METH_FASTCALL,
     PyDoc_STR(
         "schedule()\n--\n\n"
         "Goes to the tail of the run queue and lets the others run; alone, returns at once.\n"
         "Raises Cancelled in a cancelled scope.")},
    {"sleep", BIND_FN(native_sleep), METH_FASTCALL,
     PyDoc_STR("sleep(seconds, /)\n--\n\n"
               "Lets others run for at least that long (int or float; 0 or less: as schedule()).")},
    {"select", BIND_FN(bind_select), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("select(cases, /, timeout=None)\n--\n\n"
               "Waits until one of several channel operations is possible and does that one.\n\n"
               "cases: a list or tuple; a Channel is a receive, (Channel, value) a send.\n"
               "Returns (index of the case, received value or None).  Chooses fairly.  Raises\n"
               "TimeoutError when the time (seconds) is over, ChannelClosed (with the channel as\n"
               "its `channel`) when a case is chosen whose channel is closed.")},
    {"current", native_current, METH_NOARGS,
     PyDoc_STR("current()\n--\n\nThe running Tasklet of the calling thread.")},
    {"now", native_now, METH_NOARGS,
     PyDoc_STR("now()\n--\n\n"
               "The scheduler's clock in seconds (float, monotonic; virtual in tests).")},
    {"_pause", BIND_FN(native_pause), METH_FASTCALL, NULL},
    {"_run_begin", native_run_begin, METH_NOARGS, NULL},
    {"_run_end", native_run_end, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
