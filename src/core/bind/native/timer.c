/* loomlet._core.Timer: calls a function at a time of the scheduler's clock.
 *
 * Timer(callback) is created once and armed as often as needed.  The callback runs on the
 * scheduler's thread, between two switches, and must not block.  An armed timer keeps itself alive
 * and belongs to the thread that armed it.
 */
#include <stddef.h>

#include "bind/native/native.h"

typedef struct {
    PyObject_HEAD
    s_timer timer;
    s_sched *armed_in;
    PyObject *callback;
} bind_timer;

#define SELF ((bind_timer *)self)

static void fire_timer(s_sched *s, s_timer *timer)
{
    (void)s;
    bind_timer *self = timer->owner;
    self->armed_in = NULL;
    PyObject *done = PyObject_CallNoArgs(self->callback);
    if (done == NULL)
        PyErr_WriteUnraisable(self->callback);
    Py_XDECREF(done);
    Py_DECREF((PyObject *)self);
}

static PyObject *timer_cancel(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = SELF->armed_in;
    if (s == NULL)
        Py_RETURN_NONE;
    if (s != s_self())
        return bind_fail(S_E_THREAD, self);
    s_timer_disarm(s, &SELF->timer);
    SELF->armed_in = NULL;
    Py_DECREF(self);
    Py_RETURN_NONE;
}

/* arm(when): `when` in seconds of loomlet's clock; re-arms. */
static PyObject *timer_arm(PyObject *self, PyObject *when)
{
    int64_t nanoseconds;
    s_sched *s = s_self();
    if (s == NULL || bind_read_seconds(when, &nanoseconds) < 0)
        return NULL;
    PyObject *cancelled = timer_cancel(self, NULL);
    if (cancelled == NULL)
        return NULL;
    Py_DECREF(cancelled);
    int code = s_timer_arm(s, &SELF->timer, nanoseconds);
    if (code < 0)
        return bind_fail(code, self);
    SELF->armed_in = s;
    Py_INCREF(self);
    Py_RETURN_NONE;
}

static PyObject *timer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", NULL};
    PyObject *callback;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Timer", names, &callback))
        return NULL;
    PyObject *self = type->tp_alloc(type, 0);
    if (self != NULL) {
        SELF->callback = Py_NewRef(callback);
        SELF->timer.fire = fire_timer;
        SELF->timer.owner = self;
    }
    return self;
}

static int timer_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(SELF->callback);
    return 0;
}

static int timer_clear(PyObject *self)
{
    Py_CLEAR(SELF->callback);
    return 0;
}

static void timer_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    timer_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef methods[] = {
    {"arm", timer_arm, METH_O,
     PyDoc_STR("arm($self, when, /)\n--\n\nCalls at that time of now(); arming again "
               "replaces the old time.")},
    {"cancel", timer_cancel, METH_NOARGS,
     PyDoc_STR("cancel($self, /)\n--\n\nDisarms it; nothing if it is not armed.")},
    {NULL, NULL, 0, NULL},
};

PyTypeObject bind_timer_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.Timer",
    .tp_basicsize = sizeof(bind_timer),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = timer_new,
    .tp_methods = methods,
    .tp_traverse = timer_traverse,
    .tp_clear = timer_clear,
    .tp_dealloc = timer_dealloc,
};
