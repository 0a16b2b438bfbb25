/* loomlet.sync.RWLock, and its two sides, each of which is used as a lock. */
#include <stddef.h>

#include "bind/native/gate.h"
#include "bind/pickling.h"

typedef struct {
    PyObject_HEAD
    y_rwlock *lock; /* owned */
    char writes;
} lock_side;

#define SELF ((lock_side *)self)

/* ---- a side -------------------------------------------------------------------------- */

static PyObject *acquire_side(PyObject *self, s_sched *s, int64_t until, const c_call_site *site,
                              int *code)
{
    return y_rwlock_acquire(s, SELF->lock, SELF->writes, until, site, code);
}

static PyObject *side_acquire(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    return bind_acquire(self, acquire_side, args, nargs, kwnames, 0, (void *)side_acquire);
}

static PyObject *side_release(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    int code = y_rwlock_release(s, SELF->lock, SELF->writes);
    return code < 0 ? bind_fail(code, self) : Py_NewRef(Py_None);
}

static PyObject *side_locked(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->writes ? SELF->lock->writes : SELF->lock->readers > 0);
}

static PyObject *side_enter(PyObject *self, const c_call_site *site)
{
    return bind_enter(self, acquire_side, site);
}

static PyObject *side_exit(PyObject *self)
{
    return side_release(self, NULL);
}

const c_with_methods bind_lock_side_with = {side_enter, side_exit};

static PyObject *side_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<%s of %R>", SELF->writes ? "writing" : "reading", SELF->lock);
}

static int side_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT((PyObject *)SELF->lock);
    return 0;
}

static void side_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF((PyObject *)SELF->lock);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef side_methods[] = {
    {"acquire", BIND_FN(side_acquire), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("acquire($self, /, blocking=True, timeout=-1)\n--\n\n"
               "Takes the lock for reading, or for writing; waits, first come, first served.\n"
               "Returns True, or False when that is not possible at once, or within `timeout`\n"
               "seconds.  Tasklets and OS threads alike.")},
    {"release", side_release, METH_NOARGS,
     PyDoc_STR("release($self, /)\n--\n\n"
               "Gives it back.  RuntimeError when it is not held for that.  Any thread.")},
    {"locked", side_locked, METH_NOARGS,
     PyDoc_STR("locked($self, /)\n--\n\nWhether it is held for that.")},
    {"__reduce__", bind_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject bind_lock_side_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.RWLockSide",
    .tp_basicsize = sizeof(lock_side),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_methods = side_methods,
    .tp_repr = side_repr,
    .tp_traverse = side_traverse,
    .tp_dealloc = side_dealloc,
};

/* ---- the lock ------------------------------------------------------------------------ */

static PyObject *rwlock_get_side(PyObject *self, void *writes)
{
    lock_side *side = (lock_side *)bind_lock_side_type.tp_alloc(&bind_lock_side_type, 0);
    if (side == NULL)
        return NULL;
    side->lock = (y_rwlock *)Py_NewRef(self);
    side->writes = writes != NULL;
    return (PyObject *)side;
}

static PyObject *rwlock_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *self = bind_new_empty(type, args, kwargs);
    if (self != NULL)
        y_gate_init(&((y_rwlock *)self)->gate);
    return self;
}

static PyObject *rwlock_repr(PyObject *self)
{
    const y_rwlock *lock = (y_rwlock *)self;
    return PyUnicode_FromFormat("<loomlet.sync.RWLock at %p readers=%zd%s>", (void *)self,
                                lock->readers, lock->writes ? " held for writing" : "");
}

static int rwlock_clear(PyObject *self)
{
    y_rwlock_clear((y_rwlock *)self);
    return 0;
}

static PyMethodDef rwlock_methods[] = {
    {"__reduce__", bind_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef rwlock_sides[] = {
    {"reading", rwlock_get_side, NULL, PyDoc_STR("A lock that many may hold at once."), NULL},
    {"writing", rwlock_get_side, NULL, PyDoc_STR("A lock that one may hold, and no reader then."),
     ""},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject bind_rwlock_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet.sync.RWLock",
    .tp_doc = PyDoc_STR("RWLock()\n--\n\n"
                        "Many readers or one writer: `with lock.reading:`, `with lock.writing:`.\n"
                        "First come, first served; not reentrant."),
    .tp_basicsize = sizeof(y_rwlock),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_weaklistoffset = offsetof(y_gate, weakrefs),
    .tp_new = rwlock_new,
    .tp_methods = rwlock_methods,
    .tp_getset = rwlock_sides,
    .tp_repr = rwlock_repr,
    .tp_traverse = bind_gate_traverse,
    .tp_clear = rwlock_clear,
    .tp_dealloc = bind_gate_dealloc,
};
