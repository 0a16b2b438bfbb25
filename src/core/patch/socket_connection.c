/* Connections of builtin sockets: accepting, connecting, closing.
 *
 * Neither accept() nor connect() has a flag that says not to block, so the original does them on
 * the socket itself, under a nonblocking override (nonblocking.h).  When it says that it would
 * block, the tasklet waits, until the socket's own timeout; then it is called again, or the
 * descriptor is asked what became of the connection.
 *
 * A name that is given to connect() itself is looked up by the original, on the thread: the other
 * tasklets of the thread wait for that.  socket.create_connection() looks it up before
 * (bind/patch/resolver.c).
 */
#include <errno.h>

#include "patch/nonblocking.h"
#include "patch/socket.h"

#define RETRY 5000000 /* ns until a UNIX listener whose queue is full is tried again */

/* The original under an override; *waits: the user lets it block. */
static PyObject *call_nonblocking(PyObject *socket, PyCFunction original, PyObject *arg, int *waits)
{
    patch_nonblocking override;
    patch_nonblocking_begin(&override, socket, 0);
    PyObject *done = original(socket, arg);
    patch_nonblocking_end(&override);
    *waits = override.timeout > 0 || override.blocking;
    return done;
}

/* ---- accept --------------------------------------------------------------------------- */

/* A thread without tasklets: only an override by another thread makes the original fail so. */
static PyObject *accept_as_thread(PyObject *socket, PyObject *unused)
{
    s_sched *s;
    PyCFunction original = patch_socket_originals.accept;
    int ours = patch_in_our_interpreter(&s);
    PyObject *done = original(socket, unused);
    int64_t timeout;
    while (done == NULL && ours && PyErr_ExceptionMatches(PyExc_BlockingIOError) &&
           patch_socket_may_block(socket, &timeout)) {
        PyErr_Clear();
        done = original(socket, unused);
    }
    return done;
}

PyObject *patch_socket_accept(PyObject *socket, PyObject *unused)
{
    int waits;
    s_sched *s = patch_scheduler();
    if (s == NULL || patch_socket_timeout(socket) == 0)
        return accept_as_thread(socket, unused);
    if (patch_may_block(s) < 0)
        return NULL;
    int64_t until = patch_deadline(s, patch_socket_timeout(socket));
    PyObject *done = call_nonblocking(socket, patch_socket_originals.accept, unused, &waits);
    while (done == NULL && waits && PyErr_ExceptionMatches(PyExc_BlockingIOError)) {
        PyErr_Clear();
        if (patch_socket_wait(s, socket, P_READ, until) < 0)
            return NULL;
        done = call_nonblocking(socket, patch_socket_originals.accept, unused, &waits);
    }
    return done;
}

/* ---- connect -------------------------------------------------------------------------- */

/* What became of an attempt to connect, beside an errno; 0: it is connected.  SETTLED: what the
 * original has returned or raised stands. */
enum { RAISED = -1, AGAIN = -2, SETTLED = -3 };

static int await_connection(s_sched *s, PyObject *socket, int64_t until)
{
    for (;;) {
        int fd = c_socket_fd(socket), code = fd < 0 ? EBADF : -p_connect_result(fd);
        if (code != EAGAIN)
            return code == EISCONN ? 0 : code;
        if (patch_socket_wait(s, socket, P_WRITE, until) < 0)
            return RAISED;
    }
}

/* Continues an attempt that has given `error`.  When the queue of a UNIX listener is full, nothing
 * reports that there is room again. */
static int continue_connect(s_sched *s, PyObject *socket, int error, int64_t until)
{
    int forever = until == S_FOREVER;
    if (error == EINPROGRESS || (error == EALREADY && forever))
        return await_connection(s, socket, until);
    if (error != EAGAIN || !forever)
        return error;
    return patch_pause(s, RETRY) < 0 ? RAISED : AGAIN;
}

/* The errno of the exception, which is cleared. */
static int take_errno(void)
{
    PyObject *error = PyErr_GetRaisedException();
    PyObject *number = PyObject_GetAttrString(error, "errno");
    long code = number ? PyLong_AsLong(number) : 0;
    Py_XDECREF(number);
    Py_DECREF(error);
    PyErr_Clear();
    return (int)code;
}

/* connect() raises the errno, connect_ex() returns it. */
static int read_attempt(PyObject *done, int raises)
{
    if (raises)
        return done == NULL && PyErr_ExceptionMatches(PyExc_BlockingIOError) ? take_errno()
                                                                             : SETTLED;
    if (done == NULL)
        return SETTLED;
    int error = (int)PyLong_AsLong(done);
    Py_DECREF(done);
    return error;
}

/* Attempts until one of them is settled, or the socket's timeout is over: 0, an errno, RAISED, or
 * SETTLED with what the original has returned. */
static int connect_and_wait(PyObject *socket, PyObject *address, int raises, PyObject **done)
{
    s_sched *s = patch_scheduler();
    PyCFunction original =
        raises ? patch_socket_originals.connect : patch_socket_originals.connect_ex;
    int code = AGAIN, waits;
    if (s == NULL || patch_socket_timeout(socket) == 0) {
        *done = original(socket, address);
        return SETTLED;
    }
    if (patch_may_block(s) < 0)
        return RAISED;
    int64_t until = patch_deadline(s, patch_socket_timeout(socket));
    while (code == AGAIN) {
        *done = call_nonblocking(socket, original, address, &waits);
        code = waits ? read_attempt(*done, raises) : SETTLED;
        if (code != SETTLED)
            code = continue_connect(s, socket, code, until);
    }
    if (code != RAISED || raises || !PyErr_ExceptionMatches(PyExc_TimeoutError) || s_now(s) < until)
        return code;
    PyErr_Clear();
    return EAGAIN;
}

PyObject *patch_socket_connect(PyObject *socket, PyObject *address)
{
    PyObject *done;
    int code = connect_and_wait(socket, address, 1, &done);
    if (code == SETTLED)
        return done;
    if (code > 0)
        patch_raise_errno(code);
    return code == 0 ? Py_NewRef(Py_None) : NULL;
}

PyObject *patch_socket_connect_ex(PyObject *socket, PyObject *address)
{
    PyObject *done;
    int code = connect_and_wait(socket, address, 0, &done);
    if (code == SETTLED)
        return done;
    return code >= 0 ? PyLong_FromLong(code) : NULL;
}

/* ---- closing -------------------------------------------------------------------------- */

/* The original gives the descriptor up: waiters through this socket resume. */
static PyObject *give_up_descriptor(PyObject *socket, PyCFunction original)
{
    s_sched *s;
    int fd = c_socket_fd(socket), ours = patch_in_our_interpreter(&s);
    PyObject *done = original(socket, NULL);
    if (ours && fd >= 0) {
        PyObject *pending = PyErr_GetRaisedException();
        i_external_closed(s, fd, socket);
        PyErr_SetRaisedException(pending);
    }
    return done;
}

PyObject *patch_socket_close(PyObject *socket, PyObject *unused)
{
    (void)unused;
    return give_up_descriptor(socket, patch_socket_originals.close);
}

PyObject *patch_socket_detach(PyObject *socket, PyObject *unused)
{
    (void)unused;
    return give_up_descriptor(socket, patch_socket_originals.detach);
}
