/* Functions of loomlet: spawn, schedule, sleep, select, current, now; and those behind run(). */
#include "bind/native/native.h"
#include "sched/guests/run.h"
#include "sched/guests/thread_identity.h"

static PyObject *refuse_callable(PyObject *const *args, Py_ssize_t nargs)
{
    PyErr_Format(PyExc_TypeError, "spawn(func, *args, **kwargs) expected a callable, found %s",
                 nargs < 1 ? "nothing" : Py_TYPE(args[0])->tp_name);
    return NULL;
}

/* The arguments behind the function as a tuple; NULL with an exception set. */
static inline PyObject *spawn_arguments(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    if (nargs < 1 || !PyCallable_Check(args[0]))
        return refuse_callable(args, nargs);
    return bind_make_tuple(args + 1, bind_argument_count(nargs, kwnames) - 1);
}

/* 1 with an exception set for a tasklet, in no queue, that would run nothing.  Drops it then. */
static int refuse_coroutine_function(s_tasklet *t)
{
    if (!c_makes_coroutine(t->func))
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "spawn(func, *args, **kwargs) expected a plain function, found the coroutine "
                 "function %S, whose body would not run; use spawn(aio.await_, coroutine) of "
                 "loomlet.aio",
                 c_function_name(t->func));
    Py_DECREF((PyObject *)t);
    return 1;
}

PyObject *bind_spawn(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    (void)module;
    s_sched *s = s_self();
    PyObject *items = s != NULL ? spawn_arguments(args, nargs, kwnames) : NULL;
    if (items == NULL)
        return NULL;
    int code;
    s_tasklet *t = s_spawn(s, args[0], items, kwnames, &code);
    Py_DECREF(items);
    if (t != NULL && c_makes_coroutine(t->func)) {
        s_remove(s, t);
        refuse_coroutine_function(t);
        return NULL;
    }
    return bind_result((PyObject *)t, code, NULL);
}

PyObject *bind_new_for(s_sched *to, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    int code;
    PyObject *items = spawn_arguments(args, nargs, kwnames);
    if (items == NULL)
        return NULL;
    s_tasklet *t = s_new_for(to, args[0], items, kwnames, &code);
    Py_DECREF(items);
    if (t != NULL && refuse_coroutine_function(t))
        return NULL;
    return bind_result((PyObject *)t, code, NULL);
}

static PyObject *native_spawn_threadsafe(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                         PyObject *kwnames)
{
    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError,
                        "spawn_threadsafe(thread_id, func, *args, **kwargs) needs a thread_id");
        return NULL;
    }
    s_sched *to = s_sched_of_thread(PyLong_AsUnsignedLong(args[0]));
    if (PyErr_Occurred())
        return NULL;
    if (to == NULL)
        return bind_fail(S_E_NO_SCHEDULER, args[0]);
    if (to == s_self_if_any())
        return bind_spawn(module, args + 1, nargs - 1, kwnames);
    PyObject *t = bind_new_for(to, args + 1, nargs - 1, kwnames);
    int code = t != NULL ? s_start_for(to, (s_tasklet *)t) : S_E_SET;
    if (code >= 0 || t == NULL)
        return t;
    Py_DECREF(t);
    return bind_fail(code == S_E_THREAD ? S_E_NO_SCHEDULER : code, args[0]);
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

/* _forget_tasklets(): those of the self-test.  At import only. */
static PyObject *native_forget_tasklets(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    s_forget_tasklets(s);
    Py_RETURN_NONE;
}

/* _is_coroutine_function(callable): whether calling it runs nothing of its body. */
static PyObject *native_is_coroutine_function(PyObject *module, PyObject *callable)
{
    (void)module;
    c_call call = {Py_NewRef(callable), PyTuple_New(0), NULL};
    int code = call.args != NULL ? c_unwrap(&call) : -1;
    int found = code == 0 && c_makes_coroutine(call.func);
    Py_DECREF(call.func);
    Py_XDECREF(call.args);
    Py_XDECREF(call.kwnames);
    return code < 0 ? NULL : PyBool_FromLong(found);
}

/* A daemon thread may be late too, and the interpreter does not mind. */
static int never_ran(const s_tasklet *t)
{
    return t->state == S_READY && !t->started && !t->stackless_rules && !s_is_thread(t);
}

/* _never_ran() -> the tasklets of this thread that are runnable and have not begun. */
static PyObject *native_never_ran(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return bind_tasklets(never_ran);
}

static int has_survived(const s_tasklet *t)
{
    return !t->is_main && !s_is_daemon_sitter(t);
}

/* _survivors() -> the tasklets of this thread that have not ended, though they were killed. */
static PyObject *native_survivors(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return bind_tasklets(has_survived);
}

/* _run_begin(): enters run(). */
static PyObject *native_run_begin(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    int code = s_run_begin(s);
    return code < 0 ? bind_fail(code, (PyObject *)s->current) : Py_NewRef(Py_None);
}

/* _run_main(func, main, args, *more): calls func(main, args, *more) as main, on a stack of ours. */
static PyObject *native_run_main(PyObject *module, PyObject *args)
{
    int code;
    (void)module;
    s_sched *s = s_self();
    PyObject *rest = s ? PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args)) : NULL;
    if (rest == NULL)
        return NULL;
    PyObject *result = s_run_main(s, PyTuple_GET_ITEM(args, 0), rest, &code);
    Py_DECREF(rest);
    if (result == NULL && code != S_E_SET)
        bind_fail(code, (PyObject *)s->current);
    return result;
}

/* _is_run_lost(): what has called run() does not exist, in the child of a fork. */
static PyObject *native_is_run_lost(PyObject *module, PyObject *unused)
{
    const s_sched *s = s_self_if_any();
    (void)module, (void)unused;
    return PyBool_FromLong(s != NULL && s_is_run_caller_lost(s));
}

/* _run_end(): ends the others and leaves run(). */
static PyObject *native_run_end(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    int code = s_run_end(s);
    return code < 0 ? bind_fail(code, (PyObject *)s->current) : Py_NewRef(Py_None);
}

PyMethodDef bind_native_functions[] = {
    {"spawn", BIND_FN(bind_spawn), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("spawn(func, /, *args, **kwargs)\n--\n\n"
               "Makes a tasklet that calls func(*args, **kwargs) and puts it at the tail of the\n"
               "calling thread's run queue; the caller continues.  Returns the Tasklet.\n\n"
               "It gets a copy of the caller's contextvars.  An exception that ends it and that\n"
               "no join() receives goes to the error handler.")},
    {"spawn_threadsafe", BIND_FN(native_spawn_threadsafe), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("spawn_threadsafe(thread_id, func, /, *args, **kwargs)\n--\n\n"
               "As spawn(), on another thread: from any thread, also one that has never used\n"
               "loomlet, and from a signal handler.  Wakes that thread if it sleeps.\n\n"
               "thread_id: as threading.get_ident(), of a thread that has used loomlet; else\n"
               "WrongThread.")},
    {"schedule", BIND_FN(native_schedule), METH_FASTCALL,
     PyDoc_STR(
         "schedule()\n--\n\n"
         "Goes to the tail of the run queue and lets the others run; alone, returns at once.\n"
         "Raises Cancelled in a cancelled scope.")},
    {"sleep", BIND_FN(native_sleep), METH_FASTCALL,
     PyDoc_STR("sleep(seconds, /)\n--\n\n"
               "Lets others run for at least that long (int or float; 0 or less: as schedule()).")},
    {"select", BIND_FN(bind_select), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR(
         "select(cases, /, timeout=None, *, closed=...)\n--\n\n"
         "Waits until one of several channel operations is possible and does that one.\n\n"
         "cases: a list or tuple; a Channel is a receive, (Channel, value) a send, None\n"
         "never happens.  Returns (index of the case, received value or None).  Chooses\n"
         "fairly.  closed: the value of a case whose channel is closed.  Raises TimeoutError\n"
         "when the time (seconds) is over and, without `closed`, ChannelClosed (with the\n"
         "channel as its `channel`) when such a case is chosen.")},
    {"current", native_current, METH_NOARGS,
     PyDoc_STR("current()\n--\n\nThe running Tasklet of the calling thread.")},
    {"now", native_now, METH_NOARGS,
     PyDoc_STR("now()\n--\n\n"
               "The scheduler's clock in seconds (float, monotonic; virtual in tests).")},
    {"_pause", BIND_FN(native_pause), METH_FASTCALL, NULL},
    {"_forget_tasklets", native_forget_tasklets, METH_NOARGS, NULL},
    {"_is_coroutine_function", native_is_coroutine_function, METH_O, NULL},
    {"_never_ran", native_never_ran, METH_NOARGS, NULL},
    {"_survivors", native_survivors, METH_NOARGS, NULL},
    {"_run_begin", native_run_begin, METH_NOARGS, NULL},
    {"_run_main", native_run_main, METH_VARARGS, NULL},
    {"_is_run_lost", native_is_run_lost, METH_NOARGS, NULL},
    {"_run_end", native_run_end, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
