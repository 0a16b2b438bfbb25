/* Buffers: one call after the other, and reading what a socket sends, softly.
 *
 * The file that socket.makefile() returns is a buffer above a SocketIO above a socket. http.client,
 * socketserver, smtplib and others read so, line by line.  A wait below the buffer's own C code is
 * hard: it keeps a C stack, and of a thread that is a tasklet, with handoff, an OS thread too.  So
 * when the buffer is empty the tasklet waits before the buffer is called, and calls it when there
 * is something.  If that is only part of a line the rest is waited for below the buffer, as before.
 *
 * Meanwhile the call counts as one that is under way, so another tasklet that reads the same buffer
 * comes after it, as a thread does.
 *
 * Left to the original: a closed socket and one that does not block; subclasses of socket.socket,
 * which may read in another way (SSLSocket); a SocketIO whose timeout has occurred, which raises at
 * once; and builds without a GIL, where what the buffer holds can only be read under its lock.
 *
 * A read that times out marks the SocketIO as its own readinto() would, so that later reads fail.
 */
#include "patch/buffer.h"

#include "cpython/carried_thread.h"
#include "cpython/gil.h"
#include "patch/nonblocking.h"
#include "patch/soft_call.h"

#define ARGUMENTS 2 /* the most of any method */

typedef struct {
    patch_soft_call soft;
    patch_fast_call original;
    PyObject *reader, *raw, *socket;
    PyObject *args[ARGUMENTS];
    Py_ssize_t nargs;
} reader_call;

int patch_buffer_wait(PyObject *raw)
{
    s_sched *s = c_is_finalizing() ? NULL : patch_scheduler();
    if (s == NULL)
        return 0;
    int code;
    Py_INCREF(raw);
    PyObject *done = y_object_mutex_wait(s, raw, &code);
    Py_DECREF(raw);
    if (done == NULL)
        patch_raise(s, code);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

/* ---- the call, as an object ------------------------------------------------------------- */

static int visit_call(PyObject *self, visitproc visit, void *arg)
{
    reader_call *c = (reader_call *)self;
    Py_VISIT(c->reader);
    Py_VISIT(c->raw);
    Py_VISIT(c->socket);
    for (Py_ssize_t i = 0; i < c->nargs; i++)
        Py_VISIT(c->args[i]);
    return 0;
}

static void dealloc_call(PyObject *self)
{
    reader_call *c = (reader_call *)self;
    PyObject_GC_UnTrack(self);
    patch_soft_call_end(&c->soft);
    for (Py_ssize_t i = 0; i < c->nargs; i++)
        Py_DECREF(c->args[i]);
    Py_XDECREF(c->socket);
    Py_XDECREF(c->raw);
    Py_XDECREF(c->reader);
    PyObject_GC_Del(self);
}

static PyTypeObject call_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.ReaderCall",
    .tp_basicsize = sizeof(reader_call),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_traverse = visit_call,
    .tp_dealloc = dealloc_call,
};

int patch_buffers_prepare(PyTypeObject *reader, PyTypeObject *writer)
{
    return PyType_Ready(&call_type) < 0 ? -1 : c_buffer_find(reader, writer);
}

/* ---- before the call -------------------------------------------------------------------- */

static PyObject *socket_type, *socket_io_type; /* of the module socket, once it is imported */

static int find_types(void)
{
    if (socket_type != NULL && socket_io_type != NULL)
        return 1;
    PyObject *name = PyUnicode_FromString("socket");
    PyObject *module = name != NULL ? PyImport_GetModule(name) : NULL;
    if (module != NULL && socket_type == NULL)
        socket_type = PyObject_GetAttrString(module, "socket");
    if (module != NULL && socket_io_type == NULL)
        socket_io_type = PyObject_GetAttrString(module, "SocketIO");
    Py_XDECREF(module);
    Py_XDECREF(name);
    PyErr_Clear();
    return socket_type != NULL && socket_io_type != NULL;
}

/* The socket that the next read of an empty buffer calls: a new reference, or NULL. */
static PyObject *socket_below(PyObject *raw)
{
    static PyObject *names[2];
    PyObject *socket, *late;
    if (names[0] == NULL)
        names[0] = PyUnicode_InternFromString("_sock");
    if (names[1] == NULL)
        names[1] = PyUnicode_InternFromString("_timeout_occurred");
    if (names[0] == NULL || names[1] == NULL || strcmp(Py_TYPE(raw)->tp_name, "SocketIO") != 0 ||
        !find_types() || !Py_IS_TYPE(raw, (PyTypeObject *)socket_io_type))
        return NULL;
    late = PyObject_GetAttr(raw, names[1]);
    socket = late == Py_False ? PyObject_GetAttr(raw, names[0]) : NULL;
    Py_XDECREF(late);
    if (socket != NULL && !Py_IS_TYPE(socket, (PyTypeObject *)socket_type))
        Py_CLEAR(socket);
    return socket;
}

static int report_late(const reader_call *c)
{
    if (PyObject_SetAttrString(c->raw, "_timeout_occurred", Py_True) == 0)
        PyErr_SetString(PyExc_TimeoutError, "timed out");
    return -1;
}

static PyObject *go_on_reading(patch_soft_call *soft, PyObject *woken)
{
    reader_call *c = (reader_call *)soft;
    if (woken == Py_False && report_late(c) < 0)
        return NULL;
    return c->original(c->reader, c->args, c->nargs);
}

static reader_call *make_reader_call(const c_call_site *site, PyObject *socket)
{
    reader_call *c = patch_soft_call_new(&call_type, sizeof(*c));
    if (c == NULL)
        return NULL;
    c->soft.go_on = go_on_reading;
    c->reader = Py_NewRef(site->self);
    c->raw = Py_NewRef(c_buffer_raw(site->self));
    c->socket = Py_NewRef(socket);
    c->soft.request = (i_external_request){c_socket_fd(socket), P_READ, socket};
    for (; c->nargs < site->nargs; c->nargs++)
        c->args[c->nargs] = Py_NewRef(site->args[c->nargs]);
    PyObject_GC_Track(c);
    return c;
}

PyObject *patch_reader_call(PyObject *reader, patch_fast_call original, const c_call_site *site)
{
    int64_t timeout;
    s_sched *s = patch_scheduler();
    PyObject *raw = c_buffer_raw(reader), *socket = NULL;
    reader_call *c = NULL;
    if (c_has_gil && s != NULL && raw != NULL && site->nargs <= ARGUMENTS &&
        c_reader_is_empty(reader))
        socket = socket_below(raw);
    if (socket != NULL && c_socket_fd(socket) >= 0 && patch_socket_may_block(socket, &timeout) &&
        p_check_ready(c_socket_fd(socket), P_READ) == -EAGAIN) {
        c = make_reader_call(site, socket);
        if (c != NULL)
            c->original = original;
    }
    Py_XDECREF(socket);
    if (c != NULL) {
        patch_soft_call_begin(&c->soft, s, c->raw);
        return patch_soft_call_wait(&c->soft, patch_deadline(s, timeout), site);
    }
    PyErr_Clear();
    return original(reader, site->args, site->nargs);
}
