/* The stock sockets: where one keeps its descriptor and its timeout.
 *
 * A socket object begins with its descriptor, an int; a few words behind is the timeout in
 * nanoseconds, which is not the same place in each version.  It is looked for at import of the
 * patch, in a socket whose timeout is a number that nothing else is, and must be found exactly
 * once; then another one is set and read back.
 *
 * A twin is a second object of the base type with all fields of the first but the timeout, which
 * is 0.  It is made without __init__, so it opens nothing, and its descriptor is taken from
 * it before it goes, so it closes nothing.
 *
 * A poll object begins with its dictionary; tried likewise.
 */
#include "cpython/layout.h" /* before anything that takes Python.h */

#include <string.h>

#include "cpython/builtin_socket.h"

PyTypeObject *c_socket_type;

static size_t timeout_at; /* offset in the object */
static PyObject *nothing; /* the arguments of __new__ */

typedef struct {
    PyObject_HEAD
    int fd;
} stock_socket;

typedef struct {
    PyObject_HEAD
    PyObject *registered;
} stock_poll;

int c_socket_fd(PyObject *socket)
{
    return __atomic_load_n(&((stock_socket *)socket)->fd, __ATOMIC_RELAXED);
}

static int64_t *timeout_of(PyObject *socket)
{
    return (int64_t *)((char *)socket + timeout_at);
}

int64_t c_socket_timeout(PyObject *socket)
{
    return __atomic_load_n(timeout_of(socket), __ATOMIC_RELAXED);
}

void c_socket_set_timeout(PyObject *socket, int64_t timeout)
{
    __atomic_store_n(timeout_of(socket), timeout, __ATOMIC_RELAXED);
}

PyObject *c_socket_alias(PyObject *socket)
{
    PyObject *twin = c_socket_type->tp_new(c_socket_type, nothing, NULL);
    if (twin == NULL)
        return NULL;
    memcpy((char *)twin + sizeof(PyObject), (char *)socket + sizeof(PyObject),
           (size_t)c_socket_type->tp_basicsize - sizeof(PyObject));
    c_socket_set_timeout(twin, 0);
    return twin;
}

void c_socket_alias_drop(PyObject *twin)
{
    PyObject *pending = PyErr_GetRaisedException();
    ((stock_socket *)twin)->fd = -1;
    Py_DECREF(twin);
    PyErr_SetRaisedException(pending);
}

/* ---- proving the layout ------------------------------------------------------------- */

static int set_timeout(PyObject *socket, double seconds)
{
    PyObject *done = PyObject_CallMethod(socket, "settimeout", "d", seconds);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

static int find_timeout(PyObject *socket, int64_t nanoseconds)
{
    size_t end = (size_t)c_socket_type->tp_basicsize - sizeof(int64_t);
    int found = 0;
    for (size_t at = sizeof(PyObject); at <= end; at += sizeof(int64_t)) {
        if (*(int64_t *)((char *)socket + at) == nanoseconds) {
            timeout_at = at;
            found++;
        }
    }
    return found;
}

/* 1 when both fields are found, 0, or -1 with an exception. */
static int prove(PyObject *socket)
{
    PyObject *number = PyObject_CallMethod(socket, "fileno", NULL);
    long fd = number ? PyLong_AsLong(number) : -1;
    Py_XDECREF(number);
    if (fd < 0 || set_timeout(socket, 123.456) < 0)
        return -1;
    if (c_socket_fd(socket) != fd || find_timeout(socket, 123456000000) != 1)
        return 0;
    if (set_timeout(socket, 0.25) < 0)
        return -1;
    return c_socket_timeout(socket) == 250000000;
}

int c_socket_find(void)
{
    PyObject *module = PyImport_ImportModule("_socket"), *socket = NULL;
    PyObject *type = module ? PyObject_GetAttrString(module, "socket") : NULL;
    int right = -1;
    if (nothing == NULL)
        nothing = PyTuple_New(0);
    if (type != NULL && nothing != NULL && PyType_Check(type)) {
        Py_XSETREF(c_socket_type, (PyTypeObject *)Py_NewRef(type));
        socket = PyObject_CallNoArgs(type);
    }
    if (socket != NULL) {
        right = prove(socket);
        PyObject *closed = PyObject_CallMethod(socket, "close", NULL);
        Py_XDECREF(closed);
    }
    if (right == 0)
        PyErr_SetString(PyExc_RuntimeError,
                        "expected _socket.socket laid out as CPython's, found no place for its "
                        "timeout, or more than one; loomlet cannot patch sockets here");
    Py_XDECREF(socket);
    Py_XDECREF(type);
    Py_XDECREF(module);
    return right > 0 ? 0 : -1;
}

static int prove_poll(PyObject *poll)
{
    PyObject *done = PyObject_CallMethod(poll, "register", "ii", 0, 1), *key = PyLong_FromLong(0);
    int right = -1;
    if (done != NULL && key != NULL) {
        PyObject *dict = c_poll_registered(poll);
        right = dict != NULL && PyDict_CheckExact(dict) && PyDict_GET_SIZE(dict) == 1 &&
                PyDict_GetItemWithError(dict, key) != NULL;
    }
    Py_XDECREF(done);
    Py_XDECREF(key);
    return right;
}

PyTypeObject *c_poll_find(PyObject *select_module)
{
    PyObject *poll = PyObject_CallMethod(select_module, "poll", NULL);
    PyTypeObject *type = poll ? (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(poll)) : NULL;
    int right = poll ? prove_poll(poll) : -1;
    if (right == 0)
        PyErr_SetString(PyExc_RuntimeError, "expected select.poll laid out as CPython's, found no "
                                            "dictionary in it; loomlet cannot patch it here");
    if (right <= 0)
        Py_CLEAR(type);
    Py_XDECREF(poll);
    return type;
}

PyObject *c_poll_registered(PyObject *poll)
{
    return ((stock_poll *)poll)->registered;
}
