/* loomlet._core.Stream, bytes both ways, and loomlet._core.Listener. */
#include "bind/net/descriptor.h"

#define SELF BIND_DESC(self)
#define SOME 65536
#define BYTES "a number of bytes"

/* ---- streams ------------------------------------------------------------------- */

/* Reads an int of at least `least`; `what` names it in the exception. */
static int read_count(const char *what, PyObject *value, Py_ssize_t least, Py_ssize_t *count)
{
    *count = PyNumber_AsSsize_t(value, PyExc_OverflowError);
    if (*count == -1 && PyErr_Occurred())
        return -1;
    if (*count >= least)
        return 0;
    PyErr_Format(PyExc_ValueError, "expected %s of at least %zd, found %zd", what, least, *count);
    return -1;
}

static PyObject *receive_bytes(PyObject *self, Py_ssize_t most, const c_call_site *site)
{
    int code;
    s_sched *s = s_self();
    PyObject *got = s ? i_receive(s, SELF, most, site, &code) : NULL;
    return s ? bind_result(got, code, self) : NULL;
}

/* An operation without arguments. */
typedef PyObject *operation(s_sched *s, i_desc *d, const c_call_site *site, int *code);

static PyObject *call_operation(PyObject *self, operation *function, const c_call_site *site)
{
    int code;
    s_sched *s = s_self();
    PyObject *got = s ? function(s, SELF, site, &code) : NULL;
    return s ? bind_result(got, code, self) : NULL;
}

static PyObject *stream_receive_some(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t most = SOME;
    if (bind_check_most("receive_some", nargs, 1) < 0 ||
        (nargs == 1 && read_count(BYTES, args[0], 1, &most) < 0))
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, stream_receive_some);
    return receive_bytes(self, most, &site);
}

/* _receive_within(seconds): as receive_some(), but None when nothing comes for so long. */
static PyObject *stream_receive_within(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int64_t until;
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("_receive_within", nargs, 1) < 0 ||
        bind_read_timeout(s, "_receive_within", args, nargs, NULL, 0, &until) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, stream_receive_within);
    PyObject *got = i_receive_until(s, SELF, until, &site, &code);
    return bind_result(got, code, self);
}

static PyObject *stream_next(PyObject *self)
{
    c_call_site site = {self, NULL, 0, (void *)stream_next, C_ITER};
    return receive_bytes(self, SOME, &site);
}

static PyObject *stream_receive_exactly(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t count;
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("receive_exactly", nargs, 1) < 0 ||
        read_count(BYTES, args[0], 0, &count) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, stream_receive_exactly);
    PyObject *got = i_receive_exactly(s, SELF, count, &site, &code);
    return bind_result(got, code, self);
}

static PyObject *stream_receive_into(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("receive_into", nargs, 1) < 0)
        return NULL;
    PyObject *view = PyMemoryView_GetContiguous(args[0], PyBUF_WRITE, 'C');
    if (view == NULL)
        return NULL;
    if (PyMemoryView_GET_BUFFER(view)->len == 0) {
        Py_DECREF(view);
        PyErr_SetString(PyExc_ValueError, "expected a buffer with room, found an empty one");
        return NULL;
    }
    c_call_site site = BIND_SITE(self, args, nargs, stream_receive_into);
    PyObject *got = i_receive_into(s, SELF, view, &site, &code);
    return bind_result(got, code, self);
}

static PyObject *stream_send_all(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("send_all", nargs, 1) < 0)
        return NULL;
    PyObject *data = PyBytes_CheckExact(args[0])
                         ? Py_NewRef(args[0])
                         : PyMemoryView_GetContiguous(args[0], PyBUF_READ, 'C');
    if (data == NULL)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, stream_send_all);
    PyObject *done = i_send_all(s, SELF, data, &site, &code);
    return bind_result(done, code, self);
}

/* _try_send(data): sends what can be sent without waiting; how many bytes. */
static PyObject *stream_try_send(PyObject *self, PyObject *data)
{
    Py_buffer view;
    s_sched *s = s_self();
    if (s == NULL || PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    Py_ssize_t sent = i_try_send(s, SELF, view.buf, view.len);
    PyBuffer_Release(&view);
    return sent < 0 ? bind_fail((int)sent, self) : PyLong_FromSsize_t(sent);
}

static PyObject *stream_send_file(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *kwnames)
{
    static const char *const names[] = {"file", "offset", "count", NULL};
    PyObject *values[] = {NULL, NULL, Py_None};
    Py_ssize_t offset = 0, count = PY_SSIZE_T_MAX;
    int code;
    s_sched *s = s_self();
    if (s == NULL ||
        bind_parse_arguments("send_file", names, 1, args, nargs, kwnames, values) < 0 ||
        (values[1] != NULL && read_count("an offset", values[1], 0, &offset) < 0) ||
        (values[2] != Py_None && read_count("a count", values[2], 0, &count) < 0))
        return NULL;
    int file = PyObject_AsFileDescriptor(values[0]);
    if (file < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, bind_argument_count(nargs, kwnames), stream_send_file);
    PyObject *sent = i_send_file(s, SELF, file, offset, count, &site, &code);
    return bind_result(sent, code, self);
}

static PyObject *stream_send_eof(PyObject *self, PyObject *unused)
{
    (void)unused;
    int code = i_send_end(SELF);
    return code < 0 ? bind_fail(code, self) : Py_NewRef(Py_None);
}

/* _connected(): waits until connect() of its socket has succeeded or failed. */
static PyObject *stream_connected(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (bind_check_count("_connected", nargs, 0) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, stream_connected);
    return call_operation(self, i_wait_connected, &site);
}

static PyMethodDef stream_methods[] = {
    {"receive_some", BIND_FN(stream_receive_some), METH_FASTCALL,
     PyDoc_STR("receive_some($self, max_bytes=65536, /)\n--\n\n"
               "Waits until data arrives and returns it, at most that many bytes and at most\n"
               "65536 at once; b'' when the peer has ended its side.")},
    {"receive_exactly", BIND_FN(stream_receive_exactly), METH_FASTCALL,
     PyDoc_STR("receive_exactly($self, count, /)\n--\n\n"
               "Waits until that many bytes have arrived and returns them.  Raises EndOfStream,\n"
               "with what has arrived as its `partial`, if the peer ends its side before.")},
    {"receive_into", BIND_FN(stream_receive_into), METH_FASTCALL,
     PyDoc_STR("receive_into($self, buffer, /)\n--\n\n"
               "Waits until data arrives, writes it into the buffer (bytearray, memoryview),\n"
               "and returns how many bytes; 0 when the peer has ended its side.")},
    {"send_all", BIND_FN(stream_send_all), METH_FASTCALL,
     PyDoc_STR("send_all($self, data, /)\n--\n\n"
               "Sends all of it; waits while the peer does not read.  After an interruption\n"
               "it is unknown how much was sent: close the stream.")},
    {"send_file", BIND_FN(stream_send_file), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR(
         "send_file($self, file, offset=0, count=None)\n--\n\n"
         "Sends a regular file (anything with fileno(), or a descriptor number) from `offset`\n"
         "on: `count` bytes, or all there is.  Returns how many were sent, less than `count`\n"
         "when the file ends before that.  The file position does not change, and data that a\n"
         "buffered file has not yet written is not sent.  Otherwise as send_all().")},
    {"send_eof", stream_send_eof, METH_NOARGS,
     PyDoc_STR("send_eof($self, /)\n--\n\n"
               "Notifies the peer that no more data will come; receiving still works.")},
    {"_receive_within", BIND_FN(stream_receive_within), METH_FASTCALL, NULL},
    {"_try_send", stream_try_send, METH_O, NULL},
    {"_connected", BIND_FN(stream_connected), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject bind_stream_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.Stream",
    .tp_doc = PyDoc_STR("Stream(fd, /)\n--\n\n"
                        "Bytes both ways over a connected socket, a pipe or a terminal, which it\n"
                        "takes over.  `for data in stream` ends when the peer ends its side."),
    .tp_basicsize = sizeof(bind_descriptor),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_base = &bind_descriptor_type,
    .tp_methods = stream_methods,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = stream_next,
};

/* ---- listeners --------------------------------------------------------------------- */

static PyObject *listener_accept(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (bind_check_count("accept", nargs, 0) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, listener_accept);
    return call_operation(self, i_accept, &site);
}

static PyObject *listener_next(PyObject *self)
{
    c_call_site site = {self, NULL, 0, (void *)listener_next, C_ITER};
    return call_operation(self, i_accept, &site);
}

static PyObject *listener_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", "", NULL};
    PyObject *number, *accepts = (PyObject *)&bind_stream_type;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O!:Listener", names, &number, &PyType_Type,
                                     &accepts))
        return NULL;
    if (!PyType_IsSubtype((PyTypeObject *)accepts, &bind_stream_type)) {
        PyErr_Format(PyExc_TypeError, "expected a type of streams, found %R", accepts);
        return NULL;
    }
    PyObject *self = bind_descriptor_from(type, number);
    if (self != NULL)
        ((bind_descriptor *)self)->accepts = Py_NewRef(accepts);
    return self;
}

static PyObject *make_accepted_stream(PyObject *listener, int fd)
{
    bind_descriptor *self = (bind_descriptor *)listener;
    return bind_descriptor_make((PyTypeObject *)self->accepts, fd, self->desc->tcp);
}

void bind_net_init(void)
{
    i_hook.accepted = make_accepted_stream;
    i_reactor_init();
}

static PyMethodDef listener_methods[] = {
    {"accept", BIND_FN(listener_accept), METH_FASTCALL,
     PyDoc_STR("accept($self, /)\n--\n\nWaits for a connection and returns its stream.")},
    {NULL, NULL, 0, NULL},
};

PyTypeObject bind_listener_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.Listener",
    .tp_doc = PyDoc_STR("Listener(fd, stream=Stream, /)\n--\n\n"
                        "Connections to a listening socket, which it takes over.\n"
                        "`for stream in listener` ends when it is closed."),
    .tp_basicsize = sizeof(bind_descriptor),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_base = &bind_descriptor_type,
    .tp_new = listener_new,
    .tp_methods = listener_methods,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = listener_next,
};
