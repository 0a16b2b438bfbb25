/* loomlet.Semaphore */
#include <stddef.h>

#include "bind/native/gate.h"
#include "bind/pickling.h"

#define SELF ((y_semaphore *)self)

static PyObject *acquire_permit(PyObject *self, s_sched *s, int64_t until, const c_call_site *site,
                                int *code)
{
    return y_semaphore_acquire(s, SELF, until, site, code);
}

static PyObject *semaphore_acquire(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *kwnames)
{
    return bind_acquire(self, acquire_permit, args, nargs, kwnames, 1, (void *)semaphore_acquire);
}

/* A number of permits, at least `least`; -1 with an exception set. */
static Py_ssize_t read_permits(PyObject *value, const char *what, Py_ssize_t least)
{
    Py_ssize_t permits = PyNumber_AsSsize_t(value, PyExc_OverflowError);
    if (permits == -1 && PyErr_Occurred())
        return -1;
    if (permits < least) {
        PyErr_Format(PyExc_ValueError, "expected %s of at least %zd, found %zd", what, least,
                     permits);
        return -1;
    }
    return permits;
}

static PyObject *semaphore_release(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *kwnames)
{
    static const char *const names[] = {"n", NULL};
    PyObject *given = NULL;
    s_sched *s = s_self();
    if (s == NULL || bind_parse_arguments("release", names, 0, args, nargs, kwnames, &given) < 0)
        return NULL;
    Py_ssize_t permits = given != NULL ? read_permits(given, "n", 1) : 1;
    if (permits < 0)
        return NULL;
    int code = y_semaphore_release(s, SELF, permits);
    return code < 0 ? bind_fail(code, self) : Py_NewRef(Py_None);
}

static PyObject *semaphore_enter(PyObject *self, const c_call_site *site)
{
    return bind_enter(self, acquire_permit, site);
}

static PyObject *semaphore_exit(PyObject *self)
{
    return semaphore_release(self, NULL, 0, NULL);
}

const c_with_methods bind_semaphore_with = {semaphore_enter, semaphore_exit};

static PyObject *semaphore_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"value", "max_value", NULL};
    PyObject *value = NULL, *most = Py_None;
    Py_ssize_t count = 1, limit = PY_SSIZE_T_MAX;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:Semaphore", names, &value, &most))
        return NULL;
    if (value != NULL && (count = read_permits(value, "a value", 0)) < 0)
        return NULL;
    if (most != Py_None && (limit = read_permits(most, "a max_value", count)) < 0)
        return NULL;
    PyObject *self = type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    y_gate_init(&SELF->gate);
    SELF->count = count;
    SELF->most = limit;
    return self;
}

static PyObject *semaphore_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<loomlet.Semaphore at %p value=%zd>", (void *)self, SELF->count);
}

static PyObject *semaphore_get_value(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(SELF->count);
}

static PyObject *semaphore_get_max_value(PyObject *self, void *unused)
{
    (void)unused;
    if (SELF->most == PY_SSIZE_T_MAX)
        Py_RETURN_NONE;
    return PyLong_FromSsize_t(SELF->most);
}

static PyMethodDef methods[] = {
    {"acquire", BIND_FN(semaphore_acquire), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("acquire($self, /, blocking=True, timeout=None)\n--\n\n"
               "Takes a permit; waits for one, first come, first served.  Returns True, or False\n"
               "if no permit is free at once, or becomes free within `timeout` seconds, none of\n"
               "which are left if that is negative.\n"
               "Tasklets and OS threads alike.")},
    {"release", BIND_FN(semaphore_release), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("release($self, /, n=1)\n--\n\n"
               "Gives n permits back, to those who wait first.  ValueError when there would be\n"
               "more than max_value; then none is given.  Any thread.")},
    {"__reduce__", bind_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"value", semaphore_get_value, NULL, PyDoc_STR("Permits that can be taken at once."), NULL},
    {"max_value", semaphore_get_max_value, NULL, PyDoc_STR("As given, or None."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject bind_semaphore_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet.Semaphore",
    .tp_doc = PyDoc_STR("Semaphore(value=1, max_value=None)\n--\n\n"
                        "A number of permits for tasklets and OS threads: `with semaphore:` takes\n"
                        "one and gives it back.\n\n"
                        "value: how many there are at first; max_value: there are never more."),
    .tp_basicsize = sizeof(y_semaphore),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_weaklistoffset = offsetof(y_gate, weakrefs),
    .tp_new = semaphore_new,
    .tp_methods = methods,
    .tp_getset = getset,
    .tp_repr = semaphore_repr,
    .tp_traverse = bind_gate_traverse,
    .tp_clear = bind_gate_clear,
    .tp_dealloc = bind_gate_dealloc,
};
