/* loomlet._core.Condition, the base of loomlet.Condition. */
#include <stddef.h>

#include "bind/native/gate.h"
#include "bind/pickling.h"

#define SELF ((y_condition *)self)
#define LOCK ((PyObject *)SELF->lock)

static PyObject *condition_wait(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    int64_t until;
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_read_timeout(s, "wait", args, nargs, kwnames, 0, &until) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, bind_argument_count(nargs, kwnames), condition_wait);
    PyObject *done = y_condition_wait(s, SELF, until, &site, &code);
    return bind_result(done, code, self);
}

static PyObject *acquire_its_lock(PyObject *self, s_sched *s, int64_t until,
                                  const c_call_site *site, int *code)
{
    return y_lock_acquire(s, SELF->lock, until, site, code);
}

static PyObject *condition_acquire(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *kwnames)
{
    return bind_acquire(self, acquire_its_lock, args, nargs, kwnames, 0, (void *)condition_acquire);
}

static PyObject *condition_release(PyObject *self, PyObject *unused)
{
    (void)unused;
    return bind_release_lock(self, SELF->lock);
}

static PyObject *condition_enter(PyObject *self, const c_call_site *site)
{
    return bind_enter(self, acquire_its_lock, site);
}

static PyObject *condition_exit(PyObject *self)
{
    return condition_release(self, NULL);
}

const c_with_methods bind_condition_with = {condition_enter, condition_exit};

static PyObject *notify_first(PyObject *self, Py_ssize_t count)
{
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    int code = y_condition_notify(s, SELF, count);
    return code < 0 ? bind_fail(code, self) : Py_NewRef(Py_None);
}

static PyObject *condition_notify(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *kwnames)
{
    static const char *const names[] = {"n", NULL};
    PyObject *n = NULL;
    if (B_LIKELY(nargs == 0 && kwnames == NULL))
        return notify_first(self, 1);
    if (bind_parse_arguments("notify", names, 0, args, nargs, kwnames, &n) < 0)
        return NULL;
    Py_ssize_t count = n != NULL ? PyNumber_AsSsize_t(n, PyExc_OverflowError) : 1;
    return count == -1 && PyErr_Occurred() ? NULL : notify_first(self, count);
}

static PyObject *condition_notify_all(PyObject *self, PyObject *unused)
{
    (void)unused;
    return notify_first(self, PY_SSIZE_T_MAX);
}

static PyObject *condition_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"lock", NULL};
    PyObject *lock = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Condition", names, &lock))
        return NULL;
    if (lock != Py_None && !bind_is_lock(lock))
        return PyErr_Format(PyExc_TypeError, "expected a loomlet.Lock or RLock, found %R", lock);
    PyObject *self = type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    y_gate_init(&SELF->gate);
    lock = lock != Py_None ? Py_NewRef(lock) : PyObject_CallNoArgs((PyObject *)&bind_rlock_type);
    SELF->lock = (y_lock *)lock;
    if (lock == NULL)
        Py_CLEAR(self);
    return self;
}

static int condition_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(LOCK);
    return bind_gate_traverse(self, visit, arg);
}

/* Waiters, which leave its queue now, need its lock for that. */
static void condition_dealloc(PyObject *self)
{
    PyObject *lock = LOCK;
    bind_gate_dealloc(self);
    Py_XDECREF(lock);
}

static PyObject *condition_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<loomlet.Condition at %p %s waiting=%zd>", (void *)self,
                                SELF->lock->held ? "held" : "free", y_condition_waiters(SELF));
}

static PyObject *condition_get_lock(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(LOCK);
}

static PyObject *condition_locked(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->lock->held);
}

static PyObject *condition_get_depth(PyObject *self, void *unused)
{
    (void)unused;
    return bind_get_depth(SELF->lock);
}

static PyMethodDef methods[] = {
    {"acquire", BIND_FN(condition_acquire), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("acquire($self, /, blocking=True, timeout=-1)\n--\n\n"
               "Takes the lock, as Lock.acquire().")},
    {"release", condition_release, METH_NOARGS,
     PyDoc_STR("release($self, /)\n--\n\nReleases the lock, as Lock.release().")},
    {"locked", condition_locked, METH_NOARGS,
     PyDoc_STR("locked($self, /)\n--\n\nWhether the lock is held.")},
    {"notify", BIND_FN(condition_notify), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("notify($self, /, n=1)\n--\n\n"
               "Wakes the n tasklets that wait longest; they go on as soon as they have the lock.\n"
               "RuntimeError if the calling tasklet does not hold it.")},
    {"notify_all", condition_notify_all, METH_NOARGS,
     PyDoc_STR(
         "notify_all($self, /)\n--\n\n"
         "Wakes all that wait.  RuntimeError if the calling tasklet does not hold the lock.")},
    {"wait", BIND_FN(condition_wait), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("wait($self, /, timeout=None)\n--\n\n"
               "Releases the lock, waits for a notification, and takes the lock again.\n"
               "Returns True, or False when none has come within `timeout` seconds.  RuntimeError\n"
               "if the calling tasklet does not hold the lock.")},
    {"__reduce__", bind_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"_lock", condition_get_lock, NULL, NULL, NULL},
    {"_depth", condition_get_depth, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject bind_condition_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.Condition",
    .tp_basicsize = sizeof(y_condition),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_weaklistoffset = offsetof(y_gate, weakrefs),
    .tp_new = condition_new,
    .tp_methods = methods,
    .tp_getset = attributes,
    .tp_repr = condition_repr,
    .tp_traverse = condition_traverse,
    .tp_clear = bind_gate_clear,
    .tp_dealloc = condition_dealloc,
};
