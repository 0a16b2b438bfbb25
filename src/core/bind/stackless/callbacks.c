/* Callbacks of the Stackless API: for each switch, for each channel action, and for the exception
 * that ends a tasklet; and the switch trap.
 *
 * There is one callback of each kind per process.  While a callback runs its thread must not switch
 * (`trap`) and is marked (`in_callback`): a channel action inside a channel callback is refused,
 * and no schedule callback is called inside another one.  An exception of a schedule callback is
 * reported as unraisable; that of a channel callback is raised by the action it was called for,
 * which then does not happen (or has happened, with a partner on another thread).
 */
#include "bind/stackless/stackless.h"
#include "sched/guests/switch_listener.h"

typedef struct {
    PyObject *function; /* NULL: none */
    c_lock lock;
} callback;

static callback on_switch, on_channel, on_error;

static PyObject *take_callback(callback *c)
{
    c_lock_take(&c->lock);
    PyObject *function = Py_XNewRef(c->function);
    c_lock_give(&c->lock);
    return function;
}

/* Steals `function`, returns the old one. */
static PyObject *swap_callback(callback *c, PyObject *function)
{
    c_lock_take(&c->lock);
    PyObject *old = c->function;
    c->function = function;
    c_lock_give(&c->lock);
    return old;
}

static PyObject *none_if_null(PyObject *owned)
{
    return owned != NULL ? owned : Py_NewRef(Py_None);
}

static PyObject *tasklet_or_none(s_tasklet *t)
{
    return t != NULL ? (PyObject *)t : Py_None;
}

static void call_schedule_callback(s_sched *s, s_tasklet *from, s_tasklet *to)
{
    (void)s;
    PyObject *function = take_callback(&on_switch);
    if (function == NULL)
        return;
    PyObject *pending = PyErr_GetRaisedException();
    PyObject *done =
        PyObject_CallFunctionObjArgs(function, tasklet_or_none(from), tasklet_or_none(to), NULL);
    if (done == NULL)
        PyErr_WriteUnraisable(function);
    Py_XDECREF(done);
    Py_DECREF(function);
    PyErr_SetRaisedException(pending);
}

static int call_channel_callback(s_sched *s, n_channel *ch, int sending, int waits)
{
    PyObject *function = take_callback(&on_channel);
    if (function == NULL)
        return S_OK;
    s->trap++;
    s->stackless.in_callback++;
    PyObject *done = PyObject_CallFunction(function, "OOii", (PyObject *)ch, (PyObject *)s->current,
                                           sending, waits);
    s->stackless.in_callback--;
    s->trap--;
    Py_DECREF(function);
    if (done == NULL)
        return S_E_SET;
    Py_DECREF(done);
    return S_OK;
}

static PyObject *set_callback(callback *c, PyObject *function, const char *refusal)
{
    if (function != Py_None && !PyCallable_Check(function))
        return PyErr_Format(PyExc_TypeError, "%s", refusal);
    return none_if_null(swap_callback(c, function != Py_None ? Py_NewRef(function) : NULL));
}

static PyObject *stackless_set_schedule_callback(PyObject *module, PyObject *function)
{
    (void)module;
    PyObject *old = set_callback(&on_switch, function, "schedule callback must be callable");
    if (old != NULL)
        s_listen(function != Py_None ? call_schedule_callback : NULL);
    return old;
}

static PyObject *stackless_get_schedule_callback(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return none_if_null(take_callback(&on_switch));
}

static PyObject *stackless_set_channel_callback(PyObject *module, PyObject *function)
{
    (void)module;
    PyObject *old = set_callback(&on_channel, function, "channel callback must be callable");
    if (old != NULL)
        n_hook.notify = function != Py_None ? call_channel_callback : NULL;
    return old;
}

static PyObject *stackless_get_channel_callback(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return none_if_null(take_callback(&on_channel));
}

static PyObject *stackless_set_error_handler(PyObject *module, PyObject *const *args,
                                             Py_ssize_t nargs)
{
    (void)module;
    if (bind_check_most("set_error_handler", nargs, 1) < 0)
        return NULL;
    return set_callback(&on_error, nargs == 1 ? args[0] : Py_None,
                        "error handler must be callable");
}

PyObject *bind_stackless_handle_error(s_tasklet *t, PyObject *exception)
{
    (void)t;
    PyObject *handler = take_callback(&on_error);
    if (handler == NULL)
        return Py_NewRef(exception);
    PyObject *traceback = PyException_GetTraceback(exception);
    PyObject *done = PyObject_CallFunctionObjArgs(handler, (PyObject *)Py_TYPE(exception),
                                                  exception, traceback ? traceback : Py_None, NULL);
    Py_XDECREF(traceback);
    Py_DECREF(handler);
    Py_XDECREF(done);
    return done != NULL ? NULL : PyErr_GetRaisedException();
}

static PyObject *stackless_switch_trap(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    s_sched *s = s_self();
    if (s == NULL || bind_check_most("switch_trap", nargs, 1) < 0)
        return NULL;
    long change = nargs > 0 ? PyLong_AsLong(args[0]) : 0;
    if (change == -1 && PyErr_Occurred())
        return NULL;
    return PyLong_FromLong(s_switch_trap(s, (int)change));
}

PyMethodDef bind_stackless_callback_functions[] = {
    {"set_schedule_callback", stackless_set_schedule_callback, METH_O,
     PyDoc_STR("set_schedule_callback(callback, /)\n--\n\n"
               "callback(previous, next) is called before each switch of any thread; None: no\n"
               "more.  Returns the old one or None.  It must not switch.")},
    {"get_schedule_callback", stackless_get_schedule_callback, METH_NOARGS,
     PyDoc_STR("get_schedule_callback()\n--\n\nThe schedule callback, or None.")},
    {"set_channel_callback", stackless_set_channel_callback, METH_O,
     PyDoc_STR(
         "set_channel_callback(callback, /)\n--\n\n"
         "callback(channel, tasklet, sending, willblock) is called for each channel action\n"
         "of any thread; None: no more.  Returns the old one or None.  The tasklet's tempval\n"
         "is the value sent.")},
    {"get_channel_callback", stackless_get_channel_callback, METH_NOARGS,
     PyDoc_STR("get_channel_callback()\n--\n\nThe channel callback, or None.")},
    {"set_error_handler", BIND_FN(stackless_set_error_handler), METH_FASTCALL,
     PyDoc_STR("set_error_handler($module, handler=None, /)\n--\n\n"
               "Sets what is called as handler(type, value, traceback) when an exception ends a\n"
               "tasklet; returns the old one.")},
    {"switch_trap", BIND_FN(stackless_switch_trap), METH_FASTCALL,
     PyDoc_STR("switch_trap(change=0, /)\n--\n\n"
               "Adds to the thread's trap level and returns the old one.  While it is not 0, what\n"
               "would switch raises RuntimeError.")},
    {NULL, NULL, 0, NULL},
};
