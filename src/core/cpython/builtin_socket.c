/* The interpreter's own sockets: where a socket keeps its descriptor and its timeout.
 *
 * A socket object begins with its descriptor, an int; a few words later comes the timeout in
 * nanoseconds, at an offset that differs between versions.  The offset is searched when the patch
 * is imported, in a socket whose timeout is a number that occurs nowhere else, and must be found
 * exactly once; then another timeout is set and read back.
 *
 * An alias is a second object of the base type with all fields of the first but the timeout, which
 * is 0.  It is made without __init__, so it opens nothing, and its descriptor is removed from it
 * before it is freed, so it closes nothing.
 *
 * A poll object begins with its dictionary; this is verified in the same way.
 */
#include "cpython/layout.h" /* before anything that takes Python.h */

#include <string.h>

#include "cpython/builtin_socket.h"

PyTypeObject *c_socket_type;

static size_t timeout_offset;     /* in the object */
static PyObject *empty_arguments; /* of __new__ */

typedef struct {
    PyObject_HEAD
    int fd;
} socket_object;

typedef struct {
    PyObject_HEAD
    PyObject *registered;
} poll_object;

int c_socket_fd(PyObject *socket)
{
    return __atomic_load_n(&((socket_object *)socket)->fd, __ATOMIC_RELAXED);
}

static int64_t *timeout_field(PyObject *socket)
{
    return (int64_t *)((char *)socket + timeout_offset);
}

int64_t c_socket_timeout(PyObject *socket)
{
    return __atomic_load_n(timeout_field(socket), __ATOMIC_RELAXED);
}

void c_socket_set_timeout(PyObject *socket, int64_t timeout)
{
    __atomic_store_n(timeout_field(socket), timeout, __ATOMIC_RELAXED);
}

PyObject *c_socket_alias(PyObject *socket)
{
    PyObject *alias = c_socket_type->tp_new(c_socket_type, empty_arguments, NULL);
    if (alias == NULL)
        return NULL;
    memcpy((char *)alias + sizeof(PyObject), (char *)socket + sizeof(PyObject),
           (size_t)c_socket_type->tp_basicsize - sizeof(PyObject));
    c_socket_set_timeout(alias, 0);
    return alias;
}

void c_socket_alias_drop(PyObject *alias)
{
    PyObject *pending = PyErr_GetRaisedException();
    ((socket_object *)alias)->fd = -1;
    Py_DECREF(alias);
    PyErr_SetRaisedException(pending);
}

/* ---- verifying the layout ----------------------------------------------------------- */

static int call_settimeout(PyObject *socket, double seconds)
{
    PyObject *done = PyObject_CallMethod(socket, "settimeout", "d", seconds);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

static int find_timeout_offset(PyObject *socket, int64_t nanoseconds)
{
    size_t end = (size_t)c_socket_type->tp_basicsize - sizeof(int64_t);
    int found = 0;
    for (size_t at = sizeof(PyObject); at <= end; at += sizeof(int64_t)) {
        if (*(int64_t *)((char *)socket + at) == nanoseconds) {
            timeout_offset = at;
            found++;
        }
    }
    return found;
}

/* 1 when both fields are found, 0 when not, -1 with an exception. */
static int verify_socket_layout(PyObject *socket)
{
    PyObject *number = PyObject_CallMethod(socket, "fileno", NULL);
    long fd = number ? PyLong_AsLong(number) : -1;
    Py_XDECREF(number);
    if (fd < 0 || call_settimeout(socket, 123.456) < 0)
        return -1;
    if (c_socket_fd(socket) != fd || find_timeout_offset(socket, 123456000000) != 1)
        return 0;
    if (call_settimeout(socket, 0.25) < 0)
        return -1;
    return c_socket_timeout(socket) == 250000000;
}

int c_socket_find(void)
{
    PyObject *module = PyImport_ImportModule("_socket"), *socket = NULL;
    PyObject *type = module ? PyObject_GetAttrString(module, "socket") : NULL;
    int right = -1;
    if (empty_arguments == NULL)
        empty_arguments = PyTuple_New(0);
    if (type != NULL && empty_arguments != NULL && PyType_Check(type)) {
        Py_XSETREF(c_socket_type, (PyTypeObject *)Py_NewRef(type));
        socket = PyObject_CallNoArgs(type);
    }
    if (socket != NULL) {
        right = verify_socket_layout(socket);
        PyObject *closed = PyObject_CallMethod(socket, "close", NULL);
        Py_XDECREF(closed);
    }
    if (right == 0)
        PyErr_SetString(
            PyExc_RuntimeError,
            "_socket.socket is not laid out as expected: its timeout was found nowhere, or more "
            "than once; loomlet cannot patch sockets on this interpreter");
    Py_XDECREF(socket);
    Py_XDECREF(type);
    Py_XDECREF(module);
    return right > 0 ? 0 : -1;
}

static int verify_poll_layout(PyObject *poll)
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
    int right = poll ? verify_poll_layout(poll) : -1;
    if (right == 0)
        PyErr_SetString(PyExc_RuntimeError,
                        "select.poll is not laid out as expected: its dictionary was not found; "
                        "loomlet cannot patch it on this interpreter");
    if (right <= 0)
        Py_CLEAR(type);
    Py_XDECREF(poll);
    return type;
}

PyObject *c_poll_registered(PyObject *poll)
{
    return ((poll_object *)poll)->registered;
}
