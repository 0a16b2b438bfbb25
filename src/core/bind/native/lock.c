/* loomlet.Lock */
#include <stddef.h>

#include "bind/native/native.h"
#include "bind/pickling.h"
#include "sync/sync.h"

#define SELF ((y_lock *)self)

/* acquire(blocking=True, timeout=-1), like threading.Lock. */
static int read_acquire_arguments(s_sched *s, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *kwnames, int64_t *until)
{
    PyObject *blocking = nargs > 0 ? args[0] : NULL, *timeout = nargs > 1 ? args[1] : NULL;
    Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        if (PyUnicode_CompareWithASCIIString(name, "blocking") == 0 && blocking == NULL)
            blocking = args[nargs + i];
        else if (PyUnicode_CompareWithASCIIString(name, "timeout") == 0 && timeout == NULL)
            timeout = args[nargs + i];
        else
            nargs = 3;
    }
    if (nargs > 2) {
        PyErr_SetString(PyExc_TypeError, "acquire() takes blocking=True and timeout=-1");
        return -1;
    }
    int wait = blocking ? PyObject_IsTrue(blocking) : 1;
    int64_t nanoseconds = 0;
    double seconds = timeout ? PyFloat_AsDouble(timeout) : -1;
    if (wait < 0 || (seconds == -1 && PyErr_Occurred()))
        return -1;
    *until = wait ? S_FOREVER : INT64_MIN;
    if (seconds == -1)
        return 0;
    if (seconds < 0 || !wait) {
        PyErr_SetString(PyExc_ValueError, wait ? "timeout value must be a non-negative number"
                                               : "can't specify a timeout for a non-blocking call");
        return -1;
    }
    if (bind_read_seconds(timeout, &nanoseconds) < 0)
        return -1;
    *until = s_now(s) + nanoseconds;
    return 0;
}

static PyObject *lock_acquire(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    int64_t until = S_FOREVER;
    int code;
    s_sched *s = s_self();
    if (s == NULL || read_acquire_arguments(s, args, nargs, kwnames, &until) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, bind_argument_count(nargs, kwnames), lock_acquire);
    PyObject *done = y_lock_acquire(s, SELF, until, &site, &code);
    return code == S_E_TIMEOUT ? Py_NewRef(Py_False) : bind_result(done, code, self);
}

static PyObject *lock_release(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    int code = y_lock_release(s, SELF);
    return code < 0 ? bind_fail(code, self) : Py_NewRef(Py_None);
}

static PyObject *lock_locked(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->held);
}

static PyObject *lock_enter(PyObject *self, const c_call_site *site)
{
    int code;
    s_sched *s = s_self();
    PyObject *done = s ? y_lock_acquire(s, SELF, S_FOREVER, site, &code) : NULL;
    return s ? bind_result(done, code, self) : NULL;
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
        y_lock_init(SELF);
    return self;
}

static PyObject *lock_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<loomlet.Lock at %p %s>", (void *)self,
                                SELF->held ? "held" : "free");
}

static int lock_traverse(PyObject *self, visitproc visit, void *arg)
{
    return y_lock_visit(SELF, visit, arg);
}

static int lock_clear(PyObject *self)
{
    y_lock_clear(SELF);
    return 0;
}

static void lock_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    if (SELF->weakrefs != NULL)
        PyObject_ClearWeakRefs(self);
    y_lock_clear(SELF);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef methods[] = {
    {"acquire", BIND_FN(lock_acquire), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("acquire($self, /, blocking=True, timeout=-1)\n--\n\n"
               "Takes the lock; waits for it, first come, first served.  Returns True, or False\n"
               "when it is not free at once, or within `timeout` seconds.\n"
               "Tasklets and OS threads alike.")},
    {"release", lock_release, METH_NOARGS,
     PyDoc_STR("release($self, /)\n--\n\n"
               "Gives the lock to the first waiter, or frees it.  RuntimeError when it is free.")},
    {"locked", lock_locked, METH_NOARGS, PyDoc_STR("locked($self, /)\n--\n\nWhether it is held.")},
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
    .tp_weaklistoffset = offsetof(y_lock, weakrefs),
    .tp_new = lock_new,
    .tp_methods = methods,
    .tp_repr = lock_repr,
    .tp_traverse = lock_traverse,
    .tp_clear = lock_clear,
    .tp_dealloc = lock_dealloc,
};
