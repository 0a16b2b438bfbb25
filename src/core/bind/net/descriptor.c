/* loomlet._core.Descriptor: what streams and listeners have in common. */
#include "bind/net/descriptor.h"

#include <errno.h>
#include <stddef.h>

#define SELF ((bind_descriptor *)self)

PyObject *bind_descriptor_make(PyTypeObject *type, int fd, int tcp)
{
    PyObject *self = type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    SELF->desc = i_desc_open(fd, tcp, self);
    if (SELF->desc != NULL)
        return self;
    Py_DECREF(self);
    return PyErr_NoMemory();
}

PyObject *bind_descriptor_from(PyTypeObject *type, PyObject *number)
{
    long fd = PyLong_AsLong(number);
    if (fd == -1 && PyErr_Occurred())
        return NULL;
    int code = fd < 0 || fd > INT32_MAX ? -EBADF : p_set_nonblocking((int)fd);
    if (code < 0)
        return bind_fail(S_E_SYSTEM + code, number);
    return bind_descriptor_make(type, (int)fd, p_is_tcp((int)fd));
}

static PyObject *descriptor_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", NULL};
    PyObject *number;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Descriptor", names, &number))
        return NULL;
    return bind_descriptor_from(type, number);
}

static PyObject *wait_until_ready(PyObject *self, unsigned what, const c_call_site *site)
{
    int code;
    s_sched *s = s_self();
    PyObject *done = s ? i_wait_ready(s, SELF->desc, what, site, &code) : NULL;
    return s ? bind_result(done, code, self) : NULL;
}

static PyObject *descriptor_wait_readable(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 0 && bind_check_count("wait_readable", nargs, 0) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, descriptor_wait_readable);
    return wait_until_ready(self, P_READ, &site);
}

static PyObject *descriptor_wait_writable(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 0 && bind_check_count("wait_writable", nargs, 0) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, descriptor_wait_writable);
    return wait_until_ready(self, P_WRITE, &site);
}

/* _wait(seconds): until it is readable or somebody calls _wake(), True; False when late. */
static PyObject *descriptor_wait(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int64_t until;
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("_wait", nargs, 1) < 0 ||
        bind_read_timeout(s, "_wait", args, nargs, NULL, 0, &until) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, descriptor_wait);
    PyObject *done = i_wait_woken(s, SELF->desc, until, &site, &code);
    return bind_result(done, code, self);
}

/* _wake(): whether a tasklet of this thread was in such a wait, which ends. */
static PyObject *descriptor_wake(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    return PyBool_FromLong(i_wake_reader(s, SELF->desc));
}

static PyObject *descriptor_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    i_desc_close(s, SELF->desc);
    Py_RETURN_NONE;
}

static PyObject *descriptor_detach(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    int fd = s ? i_desc_detach(s, SELF->desc) : -1;
    return fd < 0 ? bind_fail(s ? S_E_DESCRIPTOR : S_E_SET, self) : PyLong_FromLong(fd);
}

static PyObject *descriptor_fileno(PyObject *self, PyObject *unused)
{
    (void)unused;
    int fd = i_desc_fd(SELF->desc);
    return fd < 0 ? bind_fail(S_E_DESCRIPTOR, self) : PyLong_FromLong(fd);
}

static PyObject *descriptor_get_closed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(i_desc_fd(SELF->desc) < 0);
}

static PyObject *descriptor_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

static PyObject *descriptor_exit(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args, (void)nargs;
    return descriptor_close(self, NULL);
}

static PyObject *descriptor_repr(PyObject *self)
{
    int fd = i_desc_fd(SELF->desc);
    const char *name = Py_TYPE(self)->tp_name;
    if (fd < 0)
        return PyUnicode_FromFormat("<%s closed>", name);
    return PyUnicode_FromFormat("<%s fd=%d>", name, fd);
}

static void descriptor_finalize(PyObject *self)
{
    if (SELF->desc == NULL || i_desc_fd(SELF->desc) < 0)
        return;
    PyObject *pending = PyErr_GetRaisedException();
    if (PyErr_ResourceWarning(self, 1, "unclosed %R", self) < 0)
        PyErr_WriteUnraisable(self);
    PyErr_SetRaisedException(pending);
}

static int descriptor_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(SELF->accepts);
    return 0;
}

static int descriptor_clear(PyObject *self)
{
    Py_CLEAR(SELF->accepts);
    return 0;
}

static void descriptor_dealloc(PyObject *self)
{
    if (PyObject_CallFinalizerFromDealloc(self) < 0)
        return;
    PyObject_GC_UnTrack(self);
    if (SELF->weakrefs != NULL)
        PyObject_ClearWeakRefs(self);
    descriptor_clear(self);
    if (SELF->desc != NULL)
        i_desc_free(SELF->desc);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef methods[] = {
    {"wait_readable", BIND_FN(descriptor_wait_readable), METH_FASTCALL,
     PyDoc_STR("wait_readable($self, /)\n--\n\nWaits until reading would not wait.")},
    {"wait_writable", BIND_FN(descriptor_wait_writable), METH_FASTCALL,
     PyDoc_STR("wait_writable($self, /)\n--\n\nWaits until writing would not wait.")},
    {"_wait", BIND_FN(descriptor_wait), METH_FASTCALL, NULL},
    {"_wake", descriptor_wake, METH_NOARGS, NULL},
    {"close", descriptor_close, METH_NOARGS,
     PyDoc_STR("close($self, /)\n--\n\n"
               "Closes it; tasklets that wait for it get DescriptorClosed, iterations end.\n"
               "Nothing when it is closed.  Any thread.")},
    {"detach", descriptor_detach, METH_NOARGS,
     PyDoc_STR("detach($self, /)\n--\n\n"
               "Gives the descriptor number away without closing it; else as close().")},
    {"fileno", descriptor_fileno, METH_NOARGS,
     PyDoc_STR("fileno($self, /)\n--\n\nThe descriptor number.  Raises DescriptorClosed.")},
    {"__enter__", descriptor_enter, METH_NOARGS, NULL},
    {"__exit__", BIND_FN(descriptor_exit), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"closed", descriptor_get_closed, NULL, PyDoc_STR("True after close() or detach()."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject bind_descriptor_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.Descriptor",
    .tp_doc = PyDoc_STR("Descriptor(fd, /)\n--\n\n"
                        "Takes over an open descriptor that tasklets can wait for."),
    .tp_basicsize = sizeof(bind_descriptor),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_weaklistoffset = offsetof(bind_descriptor, weakrefs),
    .tp_new = descriptor_new,
    .tp_methods = methods,
    .tp_getset = getset,
    .tp_repr = descriptor_repr,
    .tp_finalize = descriptor_finalize,
    .tp_traverse = descriptor_traverse,
    .tp_clear = descriptor_clear,
    .tp_dealloc = descriptor_dealloc,
};
