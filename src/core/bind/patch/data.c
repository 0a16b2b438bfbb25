/* recv, recv_into, send and sendall of stock sockets for tasklets.
 *
 * These four are done by system calls of our own that never wait (MSG_DONTWAIT), whatever the
 * descriptor's mode, so the socket is not touched.  What the arguments must be is the
 * original's word: those that we do not understand are handed to it.
 *
 * The GIL is kept over a system call that does not wait.  MSG_WAITALL is a wait for all.
 */
#include <errno.h>

#include "bind/patch/socket.h"

typedef struct {
    PyObject *socket;
    char *data;
    Py_ssize_t size, at;
    int flags;
    int all; /* not done before all of it is */
} transfer;

static long receive(transfer *x, int fd)
{
    return p_receive_with_flags(fd, x->data + x->at, (size_t)(x->size - x->at), x->flags);
}

static long send_(transfer *x, int fd)
{
    return p_send_with_flags(fd, x->data + x->at, (size_t)(x->size - x->at), x->flags);
}

static int fail(long code)
{
    errno = (int)-code;
    PyErr_SetFromErrno(PyExc_OSError);
    return -1;
}

/* Goes on until it would have to wait (0), is done (1), or has failed (-1). */
static int advance(transfer *x, long (*call)(transfer *x, int fd), long *error)
{
    long done = 0;
    do {
        x->at += done;
        done = call(x, c_socket_fd(x->socket));
    } while (done > 0 && x->all && x->at + done < x->size);
    *error = done;
    if (done < 0)
        return done == -EAGAIN ? 0 : -1;
    x->at += done;
    return 1;
}

/* 0 when done, or -1 with an exception. */
static int run(s_sched *s, transfer *x, unsigned what, long (*call)(transfer *x, int fd))
{
    int64_t until;
    long error;
    if (bind_patch_until(s, patch_socket_timeout(x->socket), &until) < 0)
        return -1;
    int done = advance(x, call, &error);
    while (done == 0) {
        if (!patch_socket_may_block(x->socket))
            return fail(error);
        if (bind_socket_wait(s, x->socket, what, until) < 0)
            return -1;
        done = advance(x, call, &error);
    }
    if (done < 0 && !(what == P_READ && x->at > 0))
        return fail(error);
    return 0;
}

/* Into bytes of that size: for much at once, or all of it. */
static PyObject *receive_much(s_sched *s, transfer *x)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, x->size), *part;
    if (bytes == NULL)
        return NULL;
    x->data = PyBytes_AS_STRING(bytes);
    if (run(s, x, P_READ, receive) < 0)
        Py_CLEAR(bytes);
    if (bytes == NULL || x->at == x->size)
        return bytes;
    part = PyBytes_FromStringAndSize(x->data, x->at);
    Py_DECREF(bytes);
    return part;
}

PyObject *bind_socket_recv(PyObject *self, PyObject *args)
{
    transfer x = {.socket = self};
    s_sched *s = bind_socket_sched(self);
    if (s == NULL || !PyArg_ParseTuple(args, "n|i:recv", &x.size, &x.flags) || x.size <= 0) {
        PyErr_Clear();
        return bind_socket_stock.recv(self, args);
    }
    x.all = p_flags_wait_all(x.flags);
    x.data = x.all || x.size > I_SCRATCH ? NULL : i_scratch(s);
    if (x.data == NULL)
        return receive_much(s, &x);
    return run(s, &x, P_READ, receive) < 0 ? NULL : PyBytes_FromStringAndSize(x.data, x.at);
}

PyObject *bind_socket_recv_into(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"buffer", "nbytes", "flags", NULL};
    transfer x = {.socket = self};
    Py_buffer into = {0};
    PyObject *done = NULL;
    s_sched *s = bind_socket_sched(self);
    if (s == NULL || !PyArg_ParseTupleAndKeywords(args, kwargs, "w*|ni:recv_into", names, &into,
                                                  &x.size, &x.flags))
        goto original;
    if (x.size < 0 || x.size > into.len || into.len == 0)
        goto original;
    x.data = into.buf;
    x.size = x.size > 0 ? x.size : into.len;
    x.all = p_flags_wait_all(x.flags);
    if (run(s, &x, P_READ, receive) == 0)
        done = PyLong_FromSsize_t(x.at);
    PyBuffer_Release(&into);
    return done;
original:
    PyErr_Clear();
    PyBuffer_Release(&into);
    PyCFunction call = bind_socket_stock.recv_into;
    return ((PyCFunctionWithKeywords)(void (*)(void))call)(self, args, kwargs);
}

/* send() and sendall(): the number of bytes sent, or -1 with an exception; -2 when the original
 * shall do it. */
static Py_ssize_t send_data(PyObject *self, PyObject *args, const char *format, int all)
{
    transfer x = {.socket = self, .all = all};
    Py_buffer data = {0};
    s_sched *s = bind_socket_sched(self);
    if (s == NULL || !PyArg_ParseTuple(args, format, &data, &x.flags)) {
        PyErr_Clear();
        return -2;
    }
    x.data = data.buf;
    x.size = data.len;
    int code = run(s, &x, P_WRITE, send_);
    PyBuffer_Release(&data);
    return code < 0 ? -1 : x.at;
}

PyObject *bind_socket_send(PyObject *self, PyObject *args)
{
    Py_ssize_t sent = send_data(self, args, "y*|i:send", 0);
    if (sent == -2)
        return bind_socket_stock.send(self, args);
    return sent < 0 ? NULL : PyLong_FromSsize_t(sent);
}

PyObject *bind_socket_sendall(PyObject *self, PyObject *args)
{
    Py_ssize_t sent = send_data(self, args, "y*|i:sendall", 1);
    if (sent == -2)
        return bind_socket_stock.sendall(self, args);
    return sent < 0 ? NULL : Py_NewRef(Py_None);
}
