/* The methods of stock sockets for tasklets: messages, connections, the end; and installing.
 *
 * Messages are the original's work, done on a twin of the socket (cpython/builtin_socket.h) with
 * MSG_DONTWAIT among the flags: so neither the socket nor its descriptor is touched.  Accepting
 * and connecting have no flags; the original does them on the socket itself under a lease
 * (patch/nonblocking.h).  When one of them says that it would have to wait, the tasklet waits,
 * until the socket's own timeout, and it is done again.
 *
 * A socket that the user has made non-blocking is never waited for.
 *
 * A name that is given to connect() itself is looked up by the original, on the thread: the
 * others of the thread wait for that.  socket.create_connection() looks it up before
 * (resolver.c).
 */
#include "bind/patch/socket.h"

#include <errno.h>

#define RETRY 5000000 /* ns: how soon a full queue of a UNIX listener is tried again */

bind_socket_methods bind_socket_stock;

/* ---- what both files share ---------------------------------------------------------- */

s_sched *bind_socket_sched(PyObject *socket)
{
    s_sched *s = bind_patch_sched();
    return s != NULL && patch_socket_timeout(socket) != 0 ? s : NULL;
}

int bind_socket_wait(s_sched *s, PyObject *socket, unsigned what, int64_t until)
{
    int late = bind_patch_wait(s, c_socket_fd(socket), what, socket, until);
    return late > 0 ? bind_patch_late() : late;
}

/* 1 when the last call would have had to wait: its exception is taken off. */
static int would_wait(PyObject *self)
{
    if (!PyErr_ExceptionMatches(PyExc_BlockingIOError) || !patch_socket_may_block(self))
        return 0;
    PyErr_Clear();
    return 1;
}

/* ---- messages --------------------------------------------------------------------------- */

static PyObject *call(PyCFunction function, PyObject *self, PyObject *args, PyObject *kwargs)
{
    return ((PyCFunctionWithKeywords)(void (*)(void))function)(self, args, kwargs);
}

/* `args` with MSG_DONTWAIT in the flags at place `at`; what is not given before them is
 * `filler`.  NULL without an exception when the original shall complain, or with one. */
static PyObject *never_waiting(PyObject *args, Py_ssize_t at, PyObject *filler)
{
    Py_ssize_t given = PyTuple_GET_SIZE(args), count = given > at ? given : at + 1;
    long flags = given > at ? PyLong_AsLong(PyTuple_GET_ITEM(args, at)) : 0;
    if (given == 0 || PyErr_Occurred()) {
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

static PyObject *on_twin(PyObject *self, PyCFunction original, PyObject *args)
{
    PyObject *twin = c_socket_alias(self);
    if (twin == NULL)
        return NULL;
    PyObject *done = call(original, twin, args, NULL);
    c_socket_alias_drop(twin);
    return done;
}

/* Until the original has done it.  Steals `args`. */
static PyObject *message(s_sched *s, PyObject *self, PyCFunction original, PyObject *args,
                         unsigned what)
{
    int64_t until;
    PyObject *done = NULL;
    if (bind_patch_until(s, patch_socket_timeout(self), &until) == 0)
        done = on_twin(self, original, args);
    while (done == NULL && would_wait(self) && bind_socket_wait(s, self, what, until) == 0)
        done = on_twin(self, original, args);
    Py_DECREF(args);
    return done;
}

/* A method whose flags are at place `at`. */
static PyObject *with_flags(PyObject *self, PyObject *args, Py_ssize_t at, PyObject *filler,
                            PyCFunction original, unsigned what)
{
    s_sched *s = bind_socket_sched(self);
    PyObject *changed = s ? never_waiting(args, at, filler) : NULL;
    if (changed == NULL)
        return PyErr_Occurred() ? NULL : call(original, self, args, NULL);
    return message(s, self, original, changed, what);
}

static PyObject *recvfrom_(PyObject *self, PyObject *args)
{
    return with_flags(self, args, 1, NULL, bind_socket_stock.recvfrom, P_READ);
}

static PyObject *recvmsg_(PyObject *self, PyObject *args)
{
    return with_flags(self, args, 2, Py_False, bind_socket_stock.recvmsg, P_READ);
}

static PyObject *recvmsg_into(PyObject *self, PyObject *args)
{
    return with_flags(self, args, 2, Py_False, bind_socket_stock.recvmsg_into, P_READ);
}

static PyObject *sendmsg_(PyObject *self, PyObject *args)
{
    PyObject *nothing = PyTuple_New(0);
    if (nothing == NULL)
        return NULL;
    PyObject *done = with_flags(self, args, 2, nothing, bind_socket_stock.sendmsg, P_WRITE);
    Py_DECREF(nothing);
    return done;
}

/* recvfrom_into(buffer, nbytes=0, flags=0), all by name too. */
static PyObject *recvfrom_into(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"buffer", "nbytes", "flags", NULL};
    PyObject *buffer, *nbytes = Py_False, *flags = Py_False;
    s_sched *s = bind_socket_sched(self);
    if (s == NULL || !PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:recvfrom_into", names,
                                                  &buffer, &nbytes, &flags)) {
        PyErr_Clear();
        return call(bind_socket_stock.recvfrom_into, self, args, kwargs);
    }
    PyObject *all = PyTuple_Pack(3, buffer, nbytes, flags);
    PyObject *changed = all ? never_waiting(all, 2, NULL) : NULL;
    Py_XDECREF(all);
    if (changed == NULL)
        return PyErr_Occurred() ? NULL : call(bind_socket_stock.recvfrom_into, self, args, kwargs);
    return message(s, self, bind_socket_stock.recvfrom_into, changed, P_READ);
}

/* sendto(data, address) and sendto(data, flags, address) */
static PyObject *sendto_(PyObject *self, PyObject *args)
{
    PyObject *three = args;
    if (PyTuple_GET_SIZE(args) == 2)
        three = PyTuple_Pack(3, PyTuple_GET_ITEM(args, 0), Py_False, PyTuple_GET_ITEM(args, 1));
    else
        Py_INCREF(three);
    if (three == NULL)
        return NULL;
    PyObject *done = PyTuple_GET_SIZE(three) == 3
                         ? with_flags(self, three, 1, NULL, bind_socket_stock.sendto, P_WRITE)
                         : bind_socket_stock.sendto(self, args);
    Py_DECREF(three);
    return done;
}

/* ---- connections ----------------------------------------------------------------------------- */

/* The original under a lease; *waits: the user wants it to wait. */
static PyObject *on_lease(PyObject *self, PyCFunction original, PyObject *arg, int *waits)
{
    patch_nonblocking lease;
    patch_nonblocking_begin(&lease, self, 0);
    PyObject *done = original(self, arg);
    patch_nonblocking_end(&lease);
    *waits = lease.timeout > 0 || lease.blocking;
    return done;
}

/* A thread without tasklets: only a lease of another thread can make it fail so. */
static PyObject *accept_as_thread(PyObject *self, PyObject *unused)
{
    s_sched *s;
    int is_ours = bind_is_ours(&s);
    PyObject *done = bind_socket_stock.accept(self, unused);
    while (done == NULL && is_ours && patch_socket_timeout(self) != 0 && would_wait(self))
        done = bind_socket_stock.accept(self, unused);
    return done;
}

static PyObject *accept_(PyObject *self, PyObject *unused)
{
    int waits;
    s_sched *s = bind_socket_sched(self);
    if (s == NULL)
        return accept_as_thread(self, unused);
    int64_t until;
    if (bind_patch_until(s, patch_socket_timeout(self), &until) < 0)
        return NULL;
    PyObject *done = on_lease(self, bind_socket_stock.accept, unused, &waits);
    while (done == NULL && waits && PyErr_ExceptionMatches(PyExc_BlockingIOError)) {
        PyErr_Clear();
        if (bind_socket_wait(s, self, P_READ, until) < 0)
            return NULL;
        done = on_lease(self, bind_socket_stock.accept, unused, &waits);
    }
    return done;
}

/* The errno of the exception, which stays. */
static int errno_of_exception(void)
{
    PyObject *error = PyErr_GetRaisedException();
    PyObject *number = PyObject_GetAttrString(error, "errno");
    long code = number ? PyLong_AsLong(number) : 0;
    Py_XDECREF(number);
    PyErr_SetRaisedException(error);
    return (int)code;
}

/* What became of an attempt to connect, besides an errno; 0: it is connected. */
enum { RAISED = -1, AGAIN = -2 };

static int await_connection(s_sched *s, PyObject *self, int64_t until)
{
    for (;;) {
        int fd = c_socket_fd(self), code = fd < 0 ? EBADF : -p_connect_result(fd);
        if (code != EAGAIN)
            return code == EISCONN ? 0 : code;
        if (bind_socket_wait(s, self, P_WRITE, until) < 0)
            return RAISED;
    }
}

/* Goes on with an attempt that has said `error`.  When the queue of a UNIX listener is full nothing
 * tells when it is not. */
static int settle(s_sched *s, PyObject *self, int error, int64_t until)
{
    int for_ever = until == S_FOREVER;
    if (error == EINPROGRESS || (error == EALREADY && for_ever))
        return await_connection(s, self, until);
    if (error != EAGAIN || !for_ever)
        return error;
    return bind_patch_pause(s, RETRY) < 0 ? RAISED : AGAIN;
}

static PyObject *connect_(PyObject *self, PyObject *address)
{
    s_sched *s = bind_socket_sched(self);
    int64_t until;
    int code = AGAIN, waits;
    if (s == NULL)
        return bind_socket_stock.connect(self, address);
    if (bind_patch_until(s, patch_socket_timeout(self), &until) < 0)
        return NULL;
    while (code == AGAIN) {
        PyObject *done = on_lease(self, bind_socket_stock.connect, address, &waits);
        if (done != NULL || !waits || !PyErr_ExceptionMatches(PyExc_BlockingIOError))
            return done;
        int error = errno_of_exception();
        PyErr_Clear();
        code = settle(s, self, error, until);
    }
    if (code == 0)
        Py_RETURN_NONE;
    errno = code;
    return code > 0 ? PyErr_SetFromErrno(PyExc_OSError) : NULL;
}

static PyObject *connect_ex(PyObject *self, PyObject *address)
{
    s_sched *s = bind_socket_sched(self);
    int64_t until;
    int code = AGAIN, waits;
    if (s == NULL)
        return bind_socket_stock.connect_ex(self, address);
    if (bind_patch_until(s, patch_socket_timeout(self), &until) < 0)
        return NULL;
    while (code == AGAIN) {
        PyObject *done = on_lease(self, bind_socket_stock.connect_ex, address, &waits);
        if (done == NULL || !waits)
            return done;
        code = settle(s, self, (int)PyLong_AsLong(done), until);
        Py_DECREF(done);
    }
    if (code == RAISED && PyErr_ExceptionMatches(PyExc_TimeoutError) && s_now(s) >= until) {
        PyErr_Clear();
        code = EAGAIN;
    }
    return code >= 0 ? PyLong_FromLong(code) : NULL;
}

/* ---- the end --------------------------------------------------------------------------- */

static PyObject *end(PyObject *self, PyCFunction original)
{
    s_sched *s;
    int fd = c_socket_fd(self), is_ours = bind_is_ours(&s);
    PyObject *done = original(self, NULL);
    if (is_ours && fd >= 0) {
        PyObject *pending = PyErr_GetRaisedException();
        i_external_closed(s, fd, self);
        PyErr_SetRaisedException(pending);
    }
    return done;
}

static PyObject *close_(PyObject *self, PyObject *unused)
{
    (void)unused;
    return end(self, bind_socket_stock.close);
}

static PyObject *detach(PyObject *self, PyObject *unused)
{
    (void)unused;
    return end(self, bind_socket_stock.detach);
}

/* ---- installing ------------------------------------------------------------------------ */

#define NAMED (METH_VARARGS | METH_KEYWORDS)

static const c_method_replacement methods[] = {
    {"recv", METH_VARARGS, bind_socket_recv, &bind_socket_stock.recv},
    {"recv_into", NAMED, BIND_FN(bind_socket_recv_into), &bind_socket_stock.recv_into},
    {"send", METH_VARARGS, bind_socket_send, &bind_socket_stock.send},
    {"sendall", METH_VARARGS, bind_socket_sendall, &bind_socket_stock.sendall},
    {"recvfrom", METH_VARARGS, recvfrom_, &bind_socket_stock.recvfrom},
    {"recvfrom_into", NAMED, BIND_FN(recvfrom_into), &bind_socket_stock.recvfrom_into},
    {"recvmsg", METH_VARARGS, recvmsg_, &bind_socket_stock.recvmsg},
    {"recvmsg_into", METH_VARARGS, recvmsg_into, &bind_socket_stock.recvmsg_into},
    {"sendto", METH_VARARGS, sendto_, &bind_socket_stock.sendto},
    {"sendmsg", METH_VARARGS, sendmsg_, &bind_socket_stock.sendmsg},
    {"_accept", METH_NOARGS, accept_, &bind_socket_stock.accept},
    {"connect", METH_O, connect_, &bind_socket_stock.connect},
    {"connect_ex", METH_O, connect_ex, &bind_socket_stock.connect_ex},
    {"close", METH_NOARGS, close_, &bind_socket_stock.close},
    {"detach", METH_NOARGS, detach, &bind_socket_stock.detach},
};

#define COUNT (sizeof(methods) / sizeof(*methods))

int bind_patch_sockets(int install)
{
    if (install)
        return c_socket_find() < 0 ? -1 : c_methods_replace(c_socket_type, methods, COUNT);
    if (bind_socket_stock.recv != NULL)
        c_methods_restore(c_socket_type, methods, COUNT);
    return 0;
}
