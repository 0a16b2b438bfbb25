/* loomlet.Event */
#include <stddef.h>

#include "bind/native/gate.h"
#include "bind/pickling.h"

#define SELF ((y_event *)self)

static PyObject *event_wait(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames)
{
    int64_t until;
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_read_timeout(s, "wait", args, nargs, kwnames, 0, &until) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, bind_argument_count(nargs, kwnames), event_wait);
    PyObject *done = y_event_wait(s, SELF, until, &site, &code);
    return code == S_E_TIMEOUT ? Py_NewRef(Py_False) : bind_result(done, code, self);
}

static PyObject *event_set(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    y_event_set(s, SELF);
    Py_RETURN_NONE;
}

static PyObject *event_clear(PyObject *self, PyObject *unused)
{
    (void)unused;
    y_event_clear(SELF);
    Py_RETURN_NONE;
}

static PyObject *event_is_set(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->is_set);
}

static PyObject *event_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *self = bind_new_empty(type, args, kwargs);
    if (self != NULL)
        y_gate_init(&SELF->gate);
    return self;
}

static PyObject *event_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<loomlet.Event at %p %s>", (void *)self,
                                SELF->is_set ? "set" : "not set");
}

static PyMethodDef methods[] = {
    {"wait", BIND_FN(event_wait), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("wait($self, /, timeout=None)\n--\n\n"
               "Waits until the event is set.  Returns True, or False when that is not within\n"
               "`timeout` seconds.  Tasklets and OS threads alike.")},
    {"set", event_set, METH_NOARGS,
     PyDoc_STR("set($self, /)\n--\n\n"
               "All that wait go on, and from now on wait() returns at once.  Any thread.")},
    {"clear", event_clear, METH_NOARGS,
     PyDoc_STR("clear($self, /)\n--\n\nFrom now on wait() waits.  Any thread.")},
    {"is_set", event_is_set, METH_NOARGS, PyDoc_STR("is_set($self, /)\n--\n\nWhether it is set.")},
    {"__reduce__", bind_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject bind_event_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet.Event",
    .tp_doc = PyDoc_STR("Event()\n--\n\n"
                        "Something that happens once, and that any number of tasklets and OS\n"
                        "threads wait for."),
    .tp_basicsize = sizeof(y_event),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_weaklistoffset = offsetof(y_gate, weakrefs),
    .tp_new = event_new,
    .tp_methods = methods,
    .tp_repr = event_repr,
    .tp_traverse = bind_gate_traverse,
    .tp_clear = bind_gate_clear,
    .tp_dealloc = bind_gate_dealloc,
};
