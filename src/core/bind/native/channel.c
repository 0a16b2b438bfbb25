/* loomlet.Channel */
#include <stddef.h>

#include "base/b_check.h"
#include "bind/native/native.h"
#include "bind/pickling.h"

#define SELF ((n_channel *)self)

static PyObject *channel_send(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames);

static B_COLD PyObject *send_with_limit(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                        PyObject *kwnames)
{
    int64_t until;
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_read_timeout(s, "send", args, nargs, kwnames, 1, &until) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, bind_argument_count(nargs, kwnames), channel_send);
    PyObject *done = n_send_until(s, SELF, args[0], until, &site, &code);
    return bind_result(done, code, self);
}

static PyObject *channel_send(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    if (B_UNLIKELY(nargs != 1 || kwnames != NULL))
        return send_with_limit(self, args, nargs, kwnames);
    s_sched *s = s_self();
    int code;
    if (s == NULL)
        return NULL;
    c_call_site site = BIND_SITE(self, args, 1, channel_send);
    PyObject *done = n_send(s, SELF, args[0], &site, &code);
    return bind_result(done, code, self);
}

static B_COLD PyObject *receive_with_limit(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                           PyObject *kwnames, const c_call_site *site)
{
    int64_t until;
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_read_timeout(s, "receive", args, nargs, kwnames, 0, &until) < 0)
        return NULL;
    PyObject *value = n_receive_until(s, SELF, until, site, &code);
    return bind_result(value, code, self);
}

static PyObject *channel_receive(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *kwnames)
{
    c_call_site site = BIND_SITE(self, args, bind_argument_count(nargs, kwnames), channel_receive);
    if (B_UNLIKELY(nargs != 0 || kwnames != NULL))
        return receive_with_limit(self, args, nargs, kwnames, &site);
    return bind_receive_with(self, &site, n_receive, bind_fail);
}

static PyObject *channel_next(PyObject *self)
{
    c_call_site site = {self, NULL, 0, (void *)channel_next, C_ITER};
    return bind_receive_with(self, &site, n_receive, bind_fail);
}

static PyObject *channel_try_send(PyObject *self, PyObject *value)
{
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    int done = n_try_send(s, SELF, value);
    return done < 0 ? bind_fail(done, self) : PyBool_FromLong(done);
}

static PyObject *channel_try_receive(PyObject *self, PyObject *unused)
{
    PyObject *value = NULL;
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    int done = n_try_receive(s, SELF, &value);
    if (done < 0)
        return bind_fail(done, self);
    return done ? Py_BuildValue("(ON)", Py_True, value) : Py_BuildValue("(OO)", Py_False, Py_None);
}

static PyObject *channel_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    int code = n_close(s, SELF);
    if (code < 0)
        return bind_fail(code, self);
    return n_channel_forget(SELF) < 0 ? NULL : Py_NewRef(Py_None);
}

static Py_ssize_t channel_len(PyObject *self)
{
    return SELF->count;
}

static PyObject *channel_get_balance(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(n_balance(SELF));
}

static PyObject *channel_get_capacity(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(SELF->capacity);
}

static PyObject *channel_get_closed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->closed);
}

static PyObject *channel_get_name(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(SELF->name ? SELF->name : Py_None);
}

PyObject *bind_get_preference(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(SELF->preference);
}

int bind_set_preference(PyObject *self, PyObject *value, void *refusal)
{
    int overflow;
    if (value == NULL || !PyLong_Check(value)) {
        PyErr_SetString(PyExc_TypeError, refusal);
        return -1;
    }
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    SELF->preference = (signed char)(overflow ? overflow : (number > 0) - (number < 0));
    return 0;
}

static PyObject *channel_repr(PyObject *self)
{
    Py_ssize_t balance = n_balance(SELF);
    const char *closed = SELF->closed ? " closed" : "";
    if (SELF->name != NULL)
        return PyUnicode_FromFormat("<loomlet.Channel %R%s balance=%zd len=%zd>", SELF->name,
                                    closed, balance, SELF->count);
    return PyUnicode_FromFormat("<loomlet.Channel at %p%s balance=%zd len=%zd>", (void *)self,
                                closed, balance, SELF->count);
}

/* The channel of that name, if it has the capacity that was `given`. */
static PyObject *find_named_channel(PyTypeObject *type, Py_ssize_t capacity, int given,
                                    PyObject *name)
{
    n_channel *ch = n_channel_named(type, capacity, name);
    if (ch != NULL && given && ch->capacity != capacity) {
        PyErr_Format(PyExc_ValueError,
                     "channel %R exists with capacity %zd, and capacity %zd was asked for; "
                     "use the same, or close() the old one first",
                     name, ch->capacity, capacity);
        Py_CLEAR(ch);
    }
    return (PyObject *)ch;
}

static PyObject *channel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"capacity", "name", NULL};
    PyObject *given = NULL, *name = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:Channel", names, &given, &name))
        return NULL;
    Py_ssize_t capacity = given ? PyNumber_AsSsize_t(given, PyExc_OverflowError) : 0;
    if (capacity == -1 && PyErr_Occurred())
        return NULL;
    if (capacity < 0) {
        PyErr_Format(PyExc_ValueError, "a channel's capacity is 0 or more, found %zd", capacity);
        return NULL;
    }
    if (name == Py_None)
        return (PyObject *)n_channel_new(type, capacity, NULL);
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "a channel's name must be a str, found %.100s",
                     Py_TYPE(name)->tp_name);
        return NULL;
    }
    return find_named_channel(type, capacity, given != NULL, name);
}

static int channel_traverse(PyObject *self, visitproc visit, void *arg)
{
    return n_channel_visit(SELF, visit, arg);
}

static int channel_clear(PyObject *self)
{
    n_channel_clear(SELF);
    return 0;
}

static void channel_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, channel_dealloc) if (SELF->weakrefs != NULL)
        PyObject_ClearWeakRefs(self);
    n_channel_free(SELF);
    Py_TYPE(self)->tp_free(self);
    Py_TRASHCAN_END
}

static PyMethodDef methods[] = {
    {"send", BIND_FN(channel_send), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("send($self, value, /, timeout=None)\n--\n\n"
               "Passes a value to a receiver or puts it into the buffer; waits while there is no\n"
               "receiver and no room in the buffer.\n\n"
               "Raises ChannelClosed when the channel is closed, TimeoutError when it has waited\n"
               "`timeout` seconds, Cancelled in a cancelled scope.\n"
               "Any thread; one without tasklets sleeps with the GIL released.")},
    {"receive", BIND_FN(channel_receive), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("receive($self, /, timeout=None)\n--\n\n"
               "Returns the oldest value; waits until there is one.\n\n"
               "Raises ChannelClosed when the channel is closed and drained, TimeoutError when it\n"
               "has waited `timeout` seconds.")},
    {"try_send", channel_try_send, METH_O,
     PyDoc_STR("try_send($self, value, /)\n--\n\n"
               "Sends without waiting; returns whether it could.  Raises ChannelClosed.")},
    {"try_receive", channel_try_receive, METH_NOARGS,
     PyDoc_STR("try_receive($self, /)\n--\n\n"
               "Returns (True, value), or (False, None) when receive() would wait.\n"
               "Raises ChannelClosed when the channel is closed and drained.")},
    {"close", channel_close, METH_NOARGS,
     PyDoc_STR("close($self, /)\n--\n\n"
               "Ends the channel: waiting receivers get ChannelClosed, iterations end, new sends\n"
               "raise.  Buffered values and senders already waiting are still delivered.")},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS,
     PyDoc_STR("Channel[T] and Tasklet[T] are for type checkers.")},
    {"__reduce__", bind_reduce, METH_NOARGS, NULL},
    {"__setstate__", bind_set_state, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"balance", channel_get_balance, NULL,
     PyDoc_STR("Senders waiting, or minus the receivers waiting."), NULL},
    {"capacity", channel_get_capacity, NULL,
     PyDoc_STR("Values that the buffer holds; 0: rendezvous."), NULL},
    {"closed", channel_get_closed, NULL, PyDoc_STR("True after close()."), NULL},
    {"name", channel_get_name, NULL, PyDoc_STR("Its name in this process, or None."), NULL},
    {"preference", bind_get_preference, bind_set_preference,
     PyDoc_STR("Which tasklet runs next when a sender meets a receiver: -1 the receiver at once,\n"
               "1 the sender at once, 0 (default) the caller; its partner is put at the tail."),
     (void *)"preference must be an int: -1, 0 or 1"},
    {NULL, NULL, NULL, NULL, NULL},
};

/* An empty channel is true: `if channel:` asks whether there is one. */
static int channel_bool(PyObject *self)
{
    (void)self;
    return 1;
}

static PyNumberMethods number = {.nb_bool = channel_bool};
static PySequenceMethods sequence = {.sq_length = channel_len};

PyTypeObject bind_channel_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet.Channel",
    .tp_doc = PyDoc_STR(
        "Channel(capacity=0, name=None)\n--\n\n"
        "Hands values from tasklet to tasklet, first in, first out, across threads too.\n\n"
        "capacity: how many values are kept without a receiver; 0: sender and receiver meet.\n"
        "name: the process's channel of that name, made on first use and kept until close();\n"
        "a different capacity is a ValueError.  `for x in channel` ends when it is closed."),
    .tp_basicsize = sizeof(n_channel),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_weaklistoffset = offsetof(n_channel, weakrefs),
    .tp_new = channel_new,
    .tp_methods = methods,
    .tp_getset = getset,
    .tp_as_number = &number,
    .tp_as_sequence = &sequence,
    .tp_repr = channel_repr,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = channel_next,
    .tp_traverse = channel_traverse,
    .tp_clear = channel_clear,
    .tp_dealloc = channel_dealloc,
};
