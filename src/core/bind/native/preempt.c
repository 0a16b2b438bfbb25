/* loomlet.nopreempt, and the settings of time slices and stall warnings. */
#include <stddef.h>

#include "bind/native/native.h"
#include "cpython/carried_thread.h"
#include "cpython/gil.h"
#include "debug/debug.h"
#include "plat/work_pool.h"
#include "sched/carrier.h"
#include "sched/guests/preempt.h"

typedef struct {
    PyObject_HEAD
    s_tasklet *entered; /* owned; NULL: not entered */
    int depth;
} nopreempt;

#define SELF ((nopreempt *)self)

static PyObject *nopreempt_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    if (SELF->depth > 0 && SELF->entered != s->current) {
        PyErr_SetString(PyExc_RuntimeError,
                        "another tasklet is inside this nopreempt(); make a new one for each "
                        "`with`");
        return NULL;
    }
    if (SELF->depth++ == 0)
        SELF->entered = (s_tasklet *)Py_NewRef((PyObject *)s->current);
    s_nopreempt_enter(s->current);
    Py_RETURN_NONE;
}

static PyObject *nopreempt_exit(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("__exit__", nargs, 3) < 0)
        return NULL;
    if (SELF->depth == 0) {
        PyErr_SetString(PyExc_RuntimeError, "this nopreempt() is not entered; use it in `with`");
        return NULL;
    }
    s_tasklet *t = SELF->entered;
    s_nopreempt_leave(s, t);
    if (--SELF->depth == 0) {
        SELF->entered = NULL;
        Py_DECREF((PyObject *)t);
    }
    Py_RETURN_NONE;
}

static int nopreempt_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(SELF->entered);
    return 0;
}

static int nopreempt_clear(PyObject *self)
{
    Py_CLEAR(SELF->entered);
    return 0;
}

static void nopreempt_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    nopreempt_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef methods[] = {
    {"__enter__", nopreempt_enter, METH_NOARGS,
     PyDoc_STR("__enter__($self, /)\n--\n\nThe running tasklet is not preempted from here on.")},
    {"__exit__", BIND_FN(nopreempt_exit), METH_FASTCALL,
     PyDoc_STR("__exit__($self, kind, error, traceback, /)\n--\n\n"
               "It may be preempted again; a preemption that was withheld happens now.")},
    {NULL, NULL, 0, NULL},
};

PyTypeObject bind_nopreempt_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet.nopreempt",
    .tp_doc = PyDoc_STR(
        "nopreempt()\n--\n\n"
        "`with nopreempt():` the running tasklet runs until it blocks or yields\n"
        "by itself; time slices do not interrupt it.  Blocks nest, also with one object in\n"
        "one tasklet.  Other threads keep running: this is not a lock.\n\n"
        "RuntimeError when another tasklet is inside the same object."),
    .tp_basicsize = sizeof(nopreempt),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = bind_new_empty,
    .tp_methods = methods,
    .tp_traverse = nopreempt_traverse,
    .tp_clear = nopreempt_clear,
    .tp_dealloc = nopreempt_dealloc,
};

static PyObject *stall_callback;

static void call_stall_callback(s_tasklet *t, int64_t nanoseconds, int others_wait)
{
    PyObject *code;
    int line;
    if (stall_callback == NULL || !c_running_location(t->owner->ts, &code, &line))
        return;
    PyObject *callback = Py_NewRef(stall_callback);
    PyObject *done =
        PyObject_CallFunction(callback, "OOidO", t, code, line, (double)nanoseconds / 1e9,
                              others_wait ? Py_True : Py_False);
    if (done == NULL)
        PyErr_WriteUnraisable(callback);
    Py_XDECREF(done);
    Py_DECREF(callback);
    Py_DECREF(code);
}

static void warn_of_refused_thread(void)
{
    if (PyErr_WarnEx(PyExc_RuntimeWarning,
                     "a C call that waits holds its thread: no other thread can be started to go "
                     "on in; see LOOMLET_THREADS and the limits of the system",
                     1) < 0)
        PyErr_WriteUnraisable(NULL);
}

/* _limit_threads(count): how many threads all pools may have together. */
static PyObject *limit_threads(PyObject *module, PyObject *value)
{
    (void)module;
    long long count = PyLong_AsLongLong(value);
    if (count == -1 && PyErr_Occurred())
        return NULL;
    p_pools_limit(count);
    Py_RETURN_NONE;
}

/* _set_stall_callback(callback, after): callback(tasklet, code, line, seconds,
 * others_wait). */
static PyObject *set_stall_callback(PyObject *module, PyObject *args)
{
    PyObject *callback, *after;
    int64_t nanoseconds;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO:_set_stall_callback", &callback, &after) ||
        bind_read_seconds(after, &nanoseconds) < 0)
        return NULL;
    Py_XSETREF(stall_callback, Py_NewRef(callback));
    s_preempt_hook.stalled = call_stall_callback;
    s_preempt_hook.thread_refused = warn_of_refused_thread;
    __atomic_store_n(&s_stall_after, nanoseconds, __ATOMIC_RELAXED);
    Py_RETURN_NONE;
}

/* _set_stall_report(after): reports stalls on stderr after so many seconds, 0: never; returns the
 * old setting. */
static PyObject *set_stall_report(PyObject *module, PyObject *after)
{
    int64_t nanoseconds;
    (void)module;
    if (bind_read_seconds(after, &nanoseconds) < 0)
        return NULL;
    int64_t before = __atomic_exchange_n(&d_report_after, nanoseconds, __ATOMIC_RELAXED);
    return PyFloat_FromDouble((double)before / 1e9);
}

/* _slices(seconds or None): turns time slices of the calling thread on or off. */
static PyObject *set_slices(PyObject *module, PyObject *value)
{
    int64_t nanoseconds = 0;
    (void)module;
    s_sched *s = s_self();
    if (s == NULL || (value != Py_None && bind_read_seconds(value, &nanoseconds) < 0))
        return NULL;
    int code = S_OK;
    if (nanoseconds > 0)
        code = s_slices_begin(s, nanoseconds);
    else
        s_slices_end(s);
    return code < 0 ? bind_fail(code, NULL) : Py_NewRef(Py_None);
}

/* _has_gil() -> whether one thread at a time runs Python. */
static PyObject *has_gil(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(c_has_gil);
}

/* _gil_waiters() -> how many threads wait for the GIL; -1: unknown, as before the first handoff. */
static PyObject *count_gil_waiters(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(c_gil_waiters());
}

/* _can_hand_over() -> whether a scheduler can go on in another thread, in this interpreter. */
static PyObject *can_hand_over(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(c_can_hand_over);
}

/* _handoff(on): the scheduler of the calling thread goes on in another thread while a tasklet sits
 * in C, or not. */
static PyObject *set_handoff(PyObject *module, PyObject *value)
{
    (void)module;
    int on = PyObject_IsTrue(value);
    s_sched *s = on < 0 ? NULL : s_self();
    if (s == NULL)
        return NULL;
    int code = s_handoff_turn_on(s, on);
    return code < 0 ? bind_fail(code, NULL) : Py_NewRef(Py_None);
}

/* _slice_budget(safepoints): a slice ends after that many safepoints; 0: off. */
static PyObject *set_counted_slices(PyObject *module, PyObject *value)
{
    (void)module;
    s_sched *s = s_self();
    long long safepoints = PyLong_AsLongLong(value);
    if (s == NULL || PyErr_Occurred())
        return NULL;
    int code = s_slices_counted(s, safepoints);
    return code < 0 ? bind_fail(code, NULL) : Py_NewRef(Py_None);
}

/* _delays(): for each interrupt request, how many ns it took until it was served; forgets them. */
static PyObject *take_slice_delays(PyObject *module, PyObject *unused)
{
    int64_t found[S_DELAYS];
    (void)module, (void)unused;
    s_sched *s = s_self();
    int count = s ? s_slices_delays(s, found) : 0;
    PyObject *list = s ? PyList_New(0) : NULL;
    for (int i = 0; list != NULL && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(found[i]);
        if (number == NULL || PyList_Append(list, number) < 0)
            Py_CLEAR(list);
        Py_XDECREF(number);
    }
    return list;
}

/* _handoff_count(): how often this scheduler was taken from a thread, when (monotonic, in ns) a
 * carrier was last called, and how often a sitter has picked it up. */
static PyObject *read_handoff_count(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    s_handoffs counts = s_handoff_count(s);
    return Py_BuildValue("LLL", counts.takes, counts.called_at, counts.pick_ups);
}

/* _uninterruptible(package, exception): see c_interruptible_init. */
static PyObject *set_uninterruptible(PyObject *module, PyObject *args)
{
    PyObject *package, *except;
    (void)module;
    if (!PyArg_ParseTuple(args, "UU:_uninterruptible", &package, &except) ||
        c_interruptible_init(package, except) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* _stop_threads(): the monitor ends, and no thread of ours begins any more. */
static PyObject *stop_threads(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_slices_stop();
    c_new_threads_end();
    Py_RETURN_NONE;
}

static PyObject *interpreter_ending(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    c_interrupt_interpreter_ending();
    Py_RETURN_NONE;
}

PyMethodDef bind_preempt_functions[] = {
    {"_set_stall_callback", set_stall_callback, METH_VARARGS, NULL},
    {"_set_stall_report", set_stall_report, METH_O, NULL},
    {"_slices", set_slices, METH_O, NULL},
    {"_can_hand_over", can_hand_over, METH_NOARGS, NULL},
    {"_has_gil", has_gil, METH_NOARGS, NULL},
    {"_gil_waiters", count_gil_waiters, METH_NOARGS, NULL},
    {"_handoff", set_handoff, METH_O, NULL},
    {"_handoff_count", read_handoff_count, METH_NOARGS, NULL},
    {"_limit_threads", limit_threads, METH_O, NULL},
    {"_slice_budget", set_counted_slices, METH_O, NULL},
    {"_delays", take_slice_delays, METH_NOARGS, NULL},
    {"_uninterruptible", set_uninterruptible, METH_VARARGS, NULL},
    {"_stop_threads", stop_threads, METH_NOARGS, NULL},
    {"_interpreter_ends", interpreter_ending, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
