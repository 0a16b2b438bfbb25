/* _stackless.channel: a channel that follows the rules of Stackless Python.
 *
 * A subtype of loomlet.Channel over the same structure, without a buffer, so every native operation
 * accepts it, and tasklets of both APIs may meet in it.  What differs is in chan/stackless.c: who
 * runs next, what close() means, and bombs, which are raised in the receiver.  A native operation
 * that receives (select, try_receive) returns a bomb as an object.
 *
 * send_sequence() is a loop around send(), and a loop in C could only be switched hard.  So it is
 * a Python function (loomlet._sequence) that is put into the type at import.  Rejected: a Python
 * subclass with that method, because the interpreter's fast method call works only for objects of
 * the exact type that has the method.
 *
 * `name` and `capacity` of the native API are read-only; here they are plain values of the class,
 * so that objects of derived classes may have such attributes.
 */
#include "bind/stackless/stackless.h"

#define SELF ((n_channel *)self)

/* ---- actions --------------------------------------------------------------------- */

static PyObject *stackless_channel_send(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    s_sched *s = s_self();
    int code;
    if (s == NULL || (nargs != 1 && bind_check_count("send", nargs, 1) < 0))
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, stackless_channel_send);
    PyObject *done = n_stackless_send(s, SELF, Py_NewRef(args[0]), &site, &code);
    return bind_stackless_result(done, code, self);
}

/* Sends an exception, whose reference is stolen. */
static PyObject *send_bomb(PyObject *self, PyObject *error, const c_call_site *site)
{
    s_sched *s = s_self();
    int code;
    PyObject *bomb = s != NULL && error != NULL ? bind_bomb_around(error) : NULL;
    Py_XDECREF(error);
    if (bomb == NULL)
        return NULL;
    PyObject *done = n_stackless_send_bomb(s, SELF, bomb, site, &code);
    return bind_stackless_result(done, code, self);
}

static PyObject *stackless_channel_send_exception(PyObject *self, PyObject *const *args,
                                                  Py_ssize_t nargs)
{
    c_call_site site = BIND_SITE(self, args, nargs, stackless_channel_send_exception);
    return send_bomb(self, bind_exception_to_raise("channel.send_exception", args, nargs), &site);
}

static PyObject *stackless_channel_send_throw(PyObject *self, PyObject *const *args,
                                              Py_ssize_t nargs)
{
    if (nargs < 1 || nargs > 3) {
        PyErr_Format(PyExc_TypeError, "send_throw expected at %s argument%s, got %zd",
                     nargs < 1 ? "least 1" : "most 3", nargs < 1 ? "" : "s", nargs);
        return NULL;
    }
    c_call_site site = BIND_SITE(self, args, nargs, stackless_channel_send_throw);
    PyObject *error = bind_stackless_exception(args[0], nargs > 1 ? args[1] : Py_None,
                                               nargs > 2 ? args[2] : Py_None);
    return send_bomb(self, error, &site);
}

static PyObject *stackless_channel_receive(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 0 && bind_check_count("receive", nargs, 0) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, stackless_channel_receive);
    return bind_receive_with(self, &site, n_stackless_receive, bind_stackless_fail);
}

static PyObject *stackless_channel_next(PyObject *self)
{
    c_call_site site = {self, NULL, 0, (void *)stackless_channel_next, C_ITER};
    return bind_receive_with(self, &site, n_stackless_receive, bind_stackless_fail);
}

static PyObject *stackless_channel_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    SELF->closing = 1;
    Py_RETURN_NONE;
}

static PyObject *stackless_channel_open(PyObject *self, PyObject *unused)
{
    (void)unused;
    SELF->closing = 0;
    Py_RETURN_NONE;
}

/* ---- attributes -------------------------------------------------------------------- */

static PyObject *stackless_channel_get_closing(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->closing);
}

static PyObject *stackless_channel_get_closed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->closing && n_balance(SELF) == 0);
}

static PyObject *stackless_channel_get_queue(PyObject *self, void *unused)
{
    (void)unused;
    s_tasklet *first = n_first_waiter(SELF);
    return first != NULL ? (PyObject *)first : Py_NewRef(Py_None);
}

static PyObject *stackless_channel_get_schedule_all(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(SELF->schedule_all);
}

static int stackless_channel_set_schedule_all(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    int flag = bind_read_flag(value, "schedule_all must be set to a bool or integer");
    if (flag >= 0)
        SELF->schedule_all = (char)flag;
    return flag < 0 ? -1 : 0;
}

static PyObject *stackless_channel_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<%s at %p%s balance=%zd>", Py_TYPE(self)->tp_name, (void *)self,
                                SELF->closing ? " closing" : "", n_balance(SELF));
}

/* Arguments are for the __init__ of a subclass. */
static PyObject *stackless_channel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    int given = PyTuple_GET_SIZE(args) > 0 || (kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0);
    if (given && type->tp_init == PyBaseObject_Type.tp_init) {
        PyErr_SetString(PyExc_TypeError, "channel() takes no arguments");
        return NULL;
    }
    PyObject *self = type->tp_alloc(type, 0);
    if (self != NULL) {
        n_channel_init(SELF, 0);
        SELF->preference = -1;
    }
    return self;
}

static PyMethodDef methods[] = {
    {"send", BIND_FN(stackless_channel_send), METH_FASTCALL,
     PyDoc_STR("send($self, value, /)\n--\n\n"
               "Passes a value to a receiver; waits until there is one.\n\n"
               "A bomb is raised there.  By default the receiver runs at once.  Raises\n"
               "ValueError when it would wait on a closing channel, RuntimeError when the\n"
               "tasklet must not wait, or where nothing may switch.  Any thread.")},
    {"send_exception", BIND_FN(stackless_channel_send_exception), METH_FASTCALL,
     PyDoc_STR("send_exception($self, cls, /, *args)\n--\n\n"
               "As send(); the receiver gets cls(*args) raised.")},
    {"send_throw", BIND_FN(stackless_channel_send_throw), METH_FASTCALL,
     PyDoc_STR("send_throw($self, exc, val=None, tb=None, /)\n--\n\n"
               "As send(); the receiver gets the exception raised, with its traceback.")},
    {"receive", BIND_FN(stackless_channel_receive), METH_FASTCALL,
     PyDoc_STR("receive($self, /)\n--\n\n"
               "Returns the value of the longest-waiting sender; waits until there is one.\n\n"
               "Raises what was sent as an exception; else as send().")},
    {"close", stackless_channel_close, METH_NOARGS,
     PyDoc_STR("close($self, /)\n--\n\n"
               "From now on no tasklet may begin to wait; those that wait already can be served.")},
    {"open", stackless_channel_open, METH_NOARGS,
     PyDoc_STR("open($self, /)\n--\n\nUndoes close().")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"closing", stackless_channel_get_closing, NULL, PyDoc_STR("True after close()."), NULL},
    {"closed", stackless_channel_get_closed, NULL,
     PyDoc_STR("True after close(), once no tasklet waits."), NULL},
    {"queue", stackless_channel_get_queue, NULL,
     PyDoc_STR("The tasklet that waits longest, or None; the others by its `next`."), NULL},
    {"preference", bind_get_preference, bind_set_preference,
     PyDoc_STR("Who runs when partners meet: -1 (default) the receiver at once, 1 the sender at\n"
               "once, 0 the caller continues.  Any int; its sign counts."),
     (void *)"preference must be set to an integer"},
    {"schedule_all", stackless_channel_get_schedule_all, stackless_channel_set_schedule_all,
     PyDoc_STR("1: the caller yields to the others, whatever the preference."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject bind_stackless_channel_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_stackless.channel",
    .tp_doc = PyDoc_STR("channel()\n--\n\n"
                        "Hands values from tasklet to tasklet by the rules of Stackless Python."),
    .tp_basicsize = sizeof(n_channel),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_base = &bind_channel_type,
    .tp_new = stackless_channel_new,
    .tp_methods = methods,
    .tp_getset = getset,
    .tp_repr = stackless_channel_repr,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = stackless_channel_next,
};

int bind_stackless_channel_ready(void)
{
    PyTypeObject *type = &bind_stackless_channel_type;
    PyObject *none = PyLong_FromLong(0);
    int done = none != NULL && PyType_Ready(type) == 0 &&
               PyDict_SetItemString(type->tp_dict, "name", Py_None) == 0 &&
               PyDict_SetItemString(type->tp_dict, "capacity", none) == 0;
    Py_XDECREF(none);
    return done ? 0 : -1;
}

PyObject *bind_set_send_sequence(PyObject *module, PyObject *function)
{
    PyTypeObject *type = &bind_stackless_channel_type;
    (void)module;
    if (PyDict_SetItemString(type->tp_dict, "send_sequence", function) < 0)
        return NULL;
    PyType_Modified(type);
    Py_RETURN_NONE;
}
