/* loomlet.Lock, and loomlet.RLock, which is one that its holder may take again */
#include <stddef.h>

#include "bind/native/gate.h"
#include "bind/pickling.h"

#define SELF ((y_lock *)self)

static PyObject *acquire_lock(PyObject *self, s_sched *s, int64_t until, const c_call_site *site,
                              int *code)
{
    return y_lock_acquire(s, SELF, until, site, code);
}

static PyObject *lock_acquire(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    return bind_acquire(self, acquire_lock, args, nargs, kwnames, 0, (void *)lock_acquire);
}

static PyObject *lock_release(PyObject *self, PyObject *unused)
{
    (void)unused;
    return bind_release_lock(self, SELF);
}

static PyObject *lock_locked(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->held);
}

static PyObject *lock_enter(PyObject *self, const c_call_site *site)
{
    return bind_enter(self, acquire_lock, site);
}

static PyObject *lock_exit(PyObject *self)
{
    return lock_release(self, NULL);
}

const c_with_methods bind_lock_with = {lock_enter, lock_exit};

static PyObject *lock_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *self = bind_new_empty(type, args, kwargs);
    if (self != NULL)
        y_gate_init(&SELF->gate);
    return self;
}

static PyObject *rlock_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *self = lock_new(type, args, kwargs);
    if (self != NULL)
        SELF->reentrant = 1;
    return self;
}

static PyObject *lock_repr(PyObject *self)
{
    const char *name = SELF->reentrant ? "sync.RLock" : "Lock";
    if (!SELF->held || !SELF->reentrant)
        return PyUnicode_FromFormat("<loomlet.%s at %p %s>", name, (void *)self,
                                    SELF->held ? "held" : "free");
    return PyUnicode_FromFormat("<loomlet.sync.RLock at %p held %u times by tasklet %llu>",
                                (void *)self, SELF->depth, (unsigned long long)SELF->holder);
}

static PyObject *rlock_get_depth(PyObject *self, void *unused)
{
    (void)unused;
    return bind_get_depth(SELF);
}

static PyObject *rlock_is_mine(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    return s ? PyBool_FromLong(SELF->held && SELF->holder == s->current->id) : NULL;
}

static PyMethodDef rlock_methods[] = {
    {"_is_owned", rlock_is_mine, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef rlock_attributes[] = {
    {"_depth", rlock_get_depth, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* As the builtin locks have it: the standard library calls it in the child of a fork. */
static PyObject *lock_after_fork(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    y_lock_after_fork(s, SELF);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"acquire", BIND_FN(lock_acquire), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("acquire($self, /, blocking=True, timeout=-1)\n--\n\n"
               "Takes the lock; waits for it, first come, first served.  Returns True, or False\n"
               "when it is not free at once, or within `timeout` seconds.\n"
               "Tasklets and OS threads alike.")},
    {"release", lock_release, METH_NOARGS,
     PyDoc_STR("release($self, /)\n--\n\n"
               "Gives the lock to the first waiter, or frees it.  RuntimeError when it is free,\n"
               "and, of an RLock, when the calling tasklet does not hold it.")},
    {"locked", lock_locked, METH_NOARGS, PyDoc_STR("locked($self, /)\n--\n\nWhether it is held.")},
    {"_at_fork_reinit", lock_after_fork, METH_NOARGS, NULL},
    {"__reduce__", bind_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject bind_lock_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet.Lock",
    .tp_doc = PyDoc_STR(
        "Lock()\n--\n\n"
        "A lock for tasklets and OS threads: `with lock:`.  Not reentrant, and it may be\n"
        "released by another tasklet or thread than took it."),
    .tp_basicsize = sizeof(y_lock),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_weaklistoffset = offsetof(y_gate, weakrefs),
    .tp_new = lock_new,
    .tp_methods = methods,
    .tp_repr = lock_repr,
    .tp_traverse = bind_gate_traverse,
    .tp_clear = bind_gate_clear,
    .tp_dealloc = bind_gate_dealloc,
};

PyTypeObject bind_rlock_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.RLock",
    .tp_basicsize = sizeof(y_lock),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_base = &bind_lock_type,
    .tp_new = rlock_new,
    .tp_methods = rlock_methods,
    .tp_getset = rlock_attributes,
    .tp_repr = lock_repr,
    .tp_traverse = bind_gate_traverse,
    .tp_clear = bind_gate_clear,
    .tp_dealloc = bind_gate_dealloc,
};
