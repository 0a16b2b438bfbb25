/* The methods of builtin sockets: their arguments, and installing.
 *
 * Their work is done in the room patch.  Arguments that are not understood here go to the
 * original, which says what is wrong with them.
 */
#include "patch/socket.h"

#include "bind/patch/patch.h"
#include "patch/nonblocking.h"

#define ORIGINAL(name) (patch_socket_originals.name)

static PyObject *call_with_keywords(PyCFunction function, PyObject *self, PyObject *args,
                                    PyObject *kwargs)
{
    PyErr_Clear();
    return ((PyCFunctionWithKeywords)(void (*)(void))function)(self, args, kwargs);
}

static int is_nonblocking(PyObject *self)
{
    return patch_socket_timeout(self) == 0;
}

/* ---- bytes ------------------------------------------------------------------------------ */

static PyObject *socket_recv(PyObject *self, PyObject *args)
{
    Py_ssize_t size;
    int flags = 0;
    s_sched *s = patch_scheduler();
    if (s == NULL || is_nonblocking(self) || !PyArg_ParseTuple(args, "n|i:recv", &size, &flags) ||
        size <= 0) {
        PyErr_Clear();
        return ORIGINAL(recv)(self, args);
    }
    return patch_socket_receive(s, self, size, flags);
}

static PyObject *socket_recv_into(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"buffer", "nbytes", "flags", NULL};
    Py_buffer into = {0};
    Py_ssize_t size = 0, got;
    int flags = 0;
    s_sched *s = patch_scheduler();
    if (s == NULL || is_nonblocking(self) ||
        !PyArg_ParseTupleAndKeywords(args, kwargs, "w*|ni:recv_into", names, &into, &size, &flags))
        return call_with_keywords(ORIGINAL(recv_into), self, args, kwargs);
    if (size < 0 || size > into.len || into.len == 0) {
        PyBuffer_Release(&into);
        return call_with_keywords(ORIGINAL(recv_into), self, args, kwargs);
    }
    got = patch_socket_receive_into(s, self, into.buf, size > 0 ? size : into.len, flags);
    PyBuffer_Release(&into);
    return got < 0 ? NULL : PyLong_FromSsize_t(got);
}

static PyObject *socket_send(PyObject *self, PyObject *args)
{
    Py_buffer data;
    int flags = 0;
    s_sched *s = patch_scheduler();
    if (s == NULL || is_nonblocking(self) || !PyArg_ParseTuple(args, "y*|i:send", &data, &flags)) {
        PyErr_Clear();
        return ORIGINAL(send)(self, args);
    }
    Py_ssize_t sent = patch_socket_send(s, self, data.buf, data.len, flags, 0);
    PyBuffer_Release(&data);
    return sent < 0 ? NULL : PyLong_FromSsize_t(sent);
}

static PyObject *socket_sendall(PyObject *self, PyObject *args)
{
    Py_buffer data;
    int flags = 0;
    s_sched *s = patch_scheduler();
    if (s == NULL || is_nonblocking(self) ||
        !PyArg_ParseTuple(args, "y*|i:sendall", &data, &flags)) {
        PyErr_Clear();
        return ORIGINAL(sendall)(self, args);
    }
    Py_ssize_t sent = patch_socket_send(s, self, data.buf, data.len, flags, 1);
    PyBuffer_Release(&data);
    return sent < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---- messages --------------------------------------------------------------------------- */

/* `args` with MSG_DONTWAIT in the flags at index `at`; what is not given before them is `filler`.
 * NULL without an exception when the original shall be called: it complains, or the user's flags
 * say that it does not wait.  Or NULL with one. */
static PyObject *with_nonblocking_flags(PyObject *self, PyObject *args, Py_ssize_t at,
                                        PyObject *filler)
{
    Py_ssize_t given = PyTuple_GET_SIZE(args), count = given > at ? given : at + 1;
    long flags = given > at ? PyLong_AsLong(PyTuple_GET_ITEM(args, at)) : 0;
    int never_waits = p_flags_never_wait((int)flags) && patch_socket_timeout(self) < 0;
    if (given == 0 || never_waits || PyErr_Occurred()) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyObject *item = i < given ? PyTuple_GET_ITEM(args, i) : filler;
        item = i == at ? PyLong_FromLong(p_flags_nonblocking((int)flags)) : Py_NewRef(item);
        if (item == NULL)
            Py_CLEAR(made);
        else
            PyTuple_SET_ITEM(made, i, item);
    }
    return made;
}

/* A method whose flags are at index `at` of its arguments. */
static PyObject *call_with_flags(PyObject *self, PyObject *args, Py_ssize_t at, PyObject *filler,
                                 PyCFunction original, unsigned what)
{
    s_sched *s = patch_scheduler();
    PyObject *changed = NULL;
    if (s != NULL && !is_nonblocking(self))
        changed = with_nonblocking_flags(self, args, at, filler);
    if (changed == NULL)
        return PyErr_Occurred() ? NULL : call_with_keywords(original, self, args, NULL);
    PyObject *done = patch_socket_message(s, self, original, changed, what);
    Py_DECREF(changed);
    return done;
}

static PyObject *socket_recvfrom(PyObject *self, PyObject *args)
{
    return call_with_flags(self, args, 1, NULL, ORIGINAL(recvfrom), P_READ);
}

static PyObject *socket_recvmsg(PyObject *self, PyObject *args)
{
    return call_with_flags(self, args, 2, Py_False, ORIGINAL(recvmsg), P_READ);
}

static PyObject *socket_recvmsg_into(PyObject *self, PyObject *args)
{
    return call_with_flags(self, args, 2, Py_False, ORIGINAL(recvmsg_into), P_READ);
}

static PyObject *socket_sendmsg(PyObject *self, PyObject *args)
{
    PyObject *nothing = PyTuple_New(0);
    if (nothing == NULL)
        return NULL;
    PyObject *done = call_with_flags(self, args, 2, nothing, ORIGINAL(sendmsg), P_WRITE);
    Py_DECREF(nothing);
    return done;
}

/* recvfrom_into(buffer, nbytes=0, flags=0), all by name too. */
static PyObject *socket_recvfrom_into(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"buffer", "nbytes", "flags", NULL};
    PyObject *buffer, *nbytes = Py_False, *flags = Py_False;
    s_sched *s = patch_scheduler();
    if (s == NULL || is_nonblocking(self) ||
        !PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:recvfrom_into", names, &buffer, &nbytes,
                                     &flags))
        return call_with_keywords(ORIGINAL(recvfrom_into), self, args, kwargs);
    PyObject *all = PyTuple_Pack(3, buffer, nbytes, flags);
    PyObject *changed = all ? with_nonblocking_flags(self, all, 2, NULL) : NULL;
    Py_XDECREF(all);
    if (changed == NULL)
        return PyErr_Occurred() ? NULL
                                : call_with_keywords(ORIGINAL(recvfrom_into), self, args, kwargs);
    PyObject *done = patch_socket_message(s, self, ORIGINAL(recvfrom_into), changed, P_READ);
    Py_DECREF(changed);
    return done;
}

/* sendto(data, address) and sendto(data, flags, address) */
static PyObject *socket_sendto(PyObject *self, PyObject *args)
{
    PyObject *three = args;
    if (PyTuple_GET_SIZE(args) == 2)
        three = PyTuple_Pack(3, PyTuple_GET_ITEM(args, 0), Py_False, PyTuple_GET_ITEM(args, 1));
    else
        Py_INCREF(three);
    if (three == NULL)
        return NULL;
    PyObject *done = PyTuple_GET_SIZE(three) == 3
                         ? call_with_flags(self, three, 1, NULL, ORIGINAL(sendto), P_WRITE)
                         : ORIGINAL(sendto)(self, args);
    Py_DECREF(three);
    return done;
}

/* ---- installing ------------------------------------------------------------------------- */

#define NAMED (METH_VARARGS | METH_KEYWORDS)

static const c_method_replacement methods[] = {
    {"recv", METH_VARARGS, socket_recv, &ORIGINAL(recv)},
    {"recv_into", NAMED, BIND_FN(socket_recv_into), &ORIGINAL(recv_into)},
    {"send", METH_VARARGS, socket_send, &ORIGINAL(send)},
    {"sendall", METH_VARARGS, socket_sendall, &ORIGINAL(sendall)},
    {"recvfrom", METH_VARARGS, socket_recvfrom, &ORIGINAL(recvfrom)},
    {"recvfrom_into", NAMED, BIND_FN(socket_recvfrom_into), &ORIGINAL(recvfrom_into)},
    {"recvmsg", METH_VARARGS, socket_recvmsg, &ORIGINAL(recvmsg)},
    {"recvmsg_into", METH_VARARGS, socket_recvmsg_into, &ORIGINAL(recvmsg_into)},
    {"sendto", METH_VARARGS, socket_sendto, &ORIGINAL(sendto)},
    {"sendmsg", METH_VARARGS, socket_sendmsg, &ORIGINAL(sendmsg)},
    {"_accept", METH_NOARGS, patch_socket_accept, &ORIGINAL(accept)},
    {"connect", METH_O, patch_socket_connect, &ORIGINAL(connect)},
    {"connect_ex", METH_O, patch_socket_connect_ex, &ORIGINAL(connect_ex)},
    {"close", METH_NOARGS, patch_socket_close, &ORIGINAL(close)},
    {"detach", METH_NOARGS, patch_socket_detach, &ORIGINAL(detach)},
};

#define COUNT (sizeof(methods) / sizeof(*methods))

int bind_patch_sockets(int install)
{
    if (install)
        return c_socket_find() < 0 ? -1 : c_methods_replace(c_socket_type, methods, COUNT);
    if (ORIGINAL(recv) != NULL)
        c_methods_restore(c_socket_type, methods, COUNT);
    return 0;
}
