/* TLS connections of the ssl module for tasklets: read, write, do_handshake and shutdown.
 *
 * The original waits by its socket's timeout.  Under a lease of that socket (patch/nonblocking.h)
 * it does not: it says SSLWantReadError or SSLWantWriteError, the tasklet waits for that, and it is
 * called again.  When the time is over it is called with a nanosecond left, so that what it raises
 * then is its own word.
 *
 * A connection without a socket (a MemoryBIO) never waits.  The library reads and writes the
 * descriptor's number that it was given once, so it is not called again for a socket that was
 * closed meanwhile.
 */
#include <errno.h>

#include "bind/patch/patch.h"
#include "patch/nonblocking.h"

static PyTypeObject *connection_type;
static PyObject *wants_read, *wants_write, *owner_name;
static struct {
    PyCFunction read, write, do_handshake, shutdown;
} stock;

/* The socket of a connection (new), or NULL without an exception. */
static PyObject *socket_of(PyObject *self)
{
    PyObject *owner = c_get_attribute(self, &owner_name, "owner");
    if (owner != NULL && c_is_socket(owner))
        return owner;
    Py_XDECREF(owner);
    PyErr_Clear();
    return NULL;
}

/* What the exception asks to wait for; 0: it says something else. */
static unsigned wanted(void)
{
    if (PyErr_ExceptionMatches(wants_read))
        return P_READ;
    return PyErr_ExceptionMatches(wants_write) ? P_WRITE : 0;
}

static PyObject *on_lease(PyObject *self, PyObject *socket, PyCFunction original, PyObject *arg,
                          int64_t timeout)
{
    patch_nonblocking lease;
    patch_nonblocking_begin(&lease, socket, timeout);
    PyObject *done = original(self, arg);
    patch_nonblocking_end(&lease);
    return done;
}

/* Waits for `what`: 0 call it again, 1 for the last time, -1 with an exception. */
static int wait_for(s_sched *s, PyObject *socket, unsigned what, int64_t until)
{
    PyErr_Clear();
    int late = bind_patch_wait(s, c_socket_fd(socket), what, socket, until);
    if (late >= 0 && c_socket_fd(socket) < 0) {
        errno = EBADF;
        PyErr_SetFromErrno(PyExc_OSError);
        return -1;
    }
    return late;
}

static PyObject *repeat(s_sched *s, PyObject *self, PyObject *socket, PyCFunction original,
                        PyObject *arg)
{
    int64_t until;
    int late = 0;
    unsigned what;
    if (bind_patch_until(s, patch_socket_timeout(socket), &until) < 0)
        return NULL;
    PyObject *done = on_lease(self, socket, original, arg, 0);
    while (done == NULL && (what = wanted()) != 0) {
        late = wait_for(s, socket, what, until);
        if (late < 0)
            return NULL;
        done = on_lease(self, socket, original, arg, late);
    }
    return done;
}

/* A thread without tasklets: only a lease of another thread can make it fail so. */
static PyObject *as_thread(PyObject *self, PyObject *socket, PyCFunction original, PyObject *arg)
{
    PyObject *done = original(self, arg);
    while (done == NULL && socket != NULL && wanted() != 0 && patch_socket_timeout(socket) != 0) {
        PyErr_Clear();
        done = original(self, arg);
    }
    return done;
}

static PyObject *call(PyObject *self, PyCFunction original, PyObject *arg)
{
    s_sched *s;
    if (!bind_is_ours(&s))
        return original(self, arg);
    s = bind_patch_sched();
    PyObject *socket = socket_of(self), *done;
    if (s != NULL && socket != NULL && c_socket_fd(socket) >= 0 &&
        patch_socket_timeout(socket) != 0)
        done = repeat(s, self, socket, original, arg);
    else
        done = as_thread(self, socket, original, arg);
    Py_XDECREF(socket);
    return done;
}

static PyObject *read_(PyObject *self, PyObject *args)
{
    return call(self, stock.read, args);
}

static PyObject *write_(PyObject *self, PyObject *data)
{
    return call(self, stock.write, data);
}

static PyObject *do_handshake(PyObject *self, PyObject *unused)
{
    return call(self, stock.do_handshake, unused);
}

static PyObject *shutdown_(PyObject *self, PyObject *unused)
{
    return call(self, stock.shutdown, unused);
}

static const c_method_replacement methods[] = {
    {"read", METH_VARARGS, read_, &stock.read},
    {"write", METH_O, write_, &stock.write},
    {"do_handshake", METH_NOARGS, do_handshake, &stock.do_handshake},
    {"shutdown", METH_NOARGS, shutdown_, &stock.shutdown},
};

#define COUNT (sizeof(methods) / sizeof(*methods))

static int find(PyObject *module)
{
    PyObject *type = PyObject_GetAttrString(module, "_SSLSocket");
    Py_XSETREF(connection_type, (PyTypeObject *)type);
    Py_XSETREF(wants_read, type ? PyObject_GetAttrString(module, "SSLWantReadError") : NULL);
    Py_XSETREF(wants_write,
               wants_read ? PyObject_GetAttrString(module, "SSLWantWriteError") : NULL);
    return wants_write ? 0 : -1;
}

/* An interpreter without ssl has nothing to patch. */
static PyObject *ssl_module(void)
{
    PyObject *module = PyImport_ImportModule("_ssl");
    if (module == NULL && PyErr_ExceptionMatches(PyExc_ImportError))
        PyErr_Clear();
    return module;
}

int bind_patch_ssl(int install)
{
    if (!install) {
        if (stock.read != NULL)
            c_methods_restore(connection_type, methods, COUNT);
        return 0;
    }
    PyObject *module = ssl_module();
    if (module == NULL)
        return PyErr_Occurred() ? -1 : 0;
    int code = find(module) < 0 ? -1 : c_methods_replace(connection_type, methods, COUNT);
    Py_DECREF(module);
    return code;
}
