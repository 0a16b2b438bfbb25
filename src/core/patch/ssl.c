/* TLS connections of the ssl module: reading, writing, the handshake and shutdown.
 *
 * The original waits by its socket's timeout.  Under a nonblocking override of that socket it does
 * not: it raises SSLWantReadError or SSLWantWriteError, the tasklet waits for that, and it is
 * called again.  After the deadline it is called with a nanosecond left, so that what it raises
 * then are its own words.
 *
 * A connection without a socket (a MemoryBIO) never waits.  The library reads and writes the
 * descriptor number that it was given once, so it is not called again for a socket that was closed
 * meanwhile.
 */
#include <errno.h>

#include "patch/nonblocking.h"
#include "patch/socket.h"

PyTypeObject *patch_ssl_type;
static PyObject *want_read, *want_write, *owner_name;

int patch_ssl_find(PyObject *module)
{
    PyObject *type = PyObject_GetAttrString(module, "_SSLSocket");
    Py_XSETREF(patch_ssl_type, (PyTypeObject *)type);
    Py_XSETREF(want_read, type ? PyObject_GetAttrString(module, "SSLWantReadError") : NULL);
    Py_XSETREF(want_write, want_read ? PyObject_GetAttrString(module, "SSLWantWriteError") : NULL);
    return want_write ? 0 : -1;
}

/* The socket of a connection (new), or NULL without an exception. */
static PyObject *socket_of_connection(PyObject *connection)
{
    PyObject *owner = c_get_attribute(connection, &owner_name, "owner");
    if (owner != NULL && c_is_socket(owner))
        return owner;
    Py_XDECREF(owner);
    PyErr_Clear();
    return NULL;
}

/* What the exception asks to wait for; 0: it is another one. */
static unsigned wanted_direction(void)
{
    if (PyErr_ExceptionMatches(want_read))
        return P_READ;
    return PyErr_ExceptionMatches(want_write) ? P_WRITE : 0;
}

static PyObject *call_overridden(PyObject *connection, PyObject *socket, PyCFunction original,
                                 PyObject *arg, int64_t timeout)
{
    patch_nonblocking override;
    patch_nonblocking_begin(&override, socket, timeout);
    PyObject *done = original(connection, arg);
    patch_nonblocking_end(&override);
    return done;
}

/* Clears the exception and waits: 0 call again, 1 for the last time, or -1. */
static int wait_for_direction(s_sched *s, PyObject *socket, unsigned what, int64_t until)
{
    PyErr_Clear();
    int late = patch_wait(s, c_socket_fd(socket), what, socket, until);
    return late >= 0 && c_socket_fd(socket) < 0 ? patch_raise_errno(EBADF) : late;
}

static PyObject *call_until_done(s_sched *s, PyObject *connection, PyObject *socket,
                                 PyCFunction original, PyObject *arg)
{
    unsigned what;
    if (patch_may_block(s) < 0)
        return NULL;
    int64_t until = patch_deadline(s, patch_socket_timeout(socket));
    PyObject *done = call_overridden(connection, socket, original, arg, 0);
    while (done == NULL && (what = wanted_direction()) != 0) {
        int late = wait_for_direction(s, socket, what, until);
        if (late < 0)
            return NULL;
        done = call_overridden(connection, socket, original, arg, late);
    }
    return done;
}

/* A thread without tasklets: only an override by another thread makes the original fail so. */
static PyObject *call_as_thread(PyObject *connection, PyObject *socket, PyCFunction original,
                                PyObject *arg)
{
    PyObject *done = original(connection, arg);
    while (done == NULL && socket != NULL && wanted_direction() != 0 &&
           patch_socket_timeout(socket) != 0) {
        PyErr_Clear();
        done = original(connection, arg);
    }
    return done;
}

PyObject *patch_ssl_call(PyObject *connection, PyCFunction original, PyObject *arg)
{
    s_sched *s;
    if (!patch_in_our_interpreter(&s))
        return original(connection, arg);
    s = patch_scheduler();
    PyObject *socket = socket_of_connection(connection), *done;
    if (s != NULL && socket != NULL && c_socket_fd(socket) >= 0 &&
        patch_socket_timeout(socket) != 0)
        done = call_until_done(s, connection, socket, original, arg);
    else
        done = call_as_thread(connection, socket, original, arg);
    Py_XDECREF(socket);
    return done;
}
