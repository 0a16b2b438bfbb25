/* Reading and writing descriptors for tasklets: os.read, readv, write and writev, and FileIO
 * objects, on which sys.stdin, the pipes of subprocess and all other files stand.
 *
 * Reading: the tasklet waits until there is something, then the original reads.  A file is
 * always ready, so it costs one question.  Between question and reading another process may have
 * taken what there was; then the original waits, as it does after any select().
 *
 * Writing: a descriptor that says it can be written takes a little at least, and would wait for
 * the rest.  So pipes and sockets are written in pieces that never wait, until all is written, as
 * a blocking descriptor does it.  What a wait that is ended has written by then stays so; but for
 * a buffer of the io module, which knows what it has handed over only when the call returns: it
 * gets a short count instead of a second wait, and goes on by itself.  A terminal has no such
 * pieces: once it takes something the original writes all.
 *
 * A descriptor that does not block never waits.  The rest is the original's word, errors too.
 *
 * A call that waits for a FileIO is a turn (sync/object_mutex.h): a buffer above it is locked, in a
 * way that knows no tasklets, and others wait for their turn before they touch it (buffers.c).
 */
#include <errno.h>

#include "bind/patch/patch.h"
#include "sync/object_mutex.h"

#define MUCH 65536

static c_replaced_function os_read, os_readv, os_write, os_writev, os_close;
static PyTypeObject *file_type;
static struct {
    c_method_forms read, readinto, write, close;
    PyCFunction readall;
} stock = {
    {.flags = METH_FASTCALL}, {.flags = METH_O}, {.flags = METH_O}, {.flags = METH_NOARGS}, NULL};

/* ---- waiting ------------------------------------------------------------------------------ */

/* Where is read or written: a descriptor, or a FileIO that has it. */
typedef struct {
    s_sched *s;
    PyObject *file; /* NULL: none */
    int fd;
} place;

static int descriptor_of(PyObject *file)
{
    int fd = PyObject_AsFileDescriptor(file);
    if (fd < 0)
        PyErr_Clear();
    return fd;
}

static int is_closed(place *p)
{
    if (p->file != NULL)
        p->fd = descriptor_of(p->file);
    return p->fd < 0;
}

/* 1 when it is ready, 0 when the original shall tell what else there is, -1 with an exception. */
static int hold_on(place *p, unsigned what)
{
    y_object_mutex mine;
    int code = 0, ready = 0;
    y_object_mutex_begin(&mine, p->file);
    while (code == 0 && !is_closed(p) && !(ready = p_check_ready(p->fd, what) != -EAGAIN) &&
           p_would_block(p->fd, what))
        code = bind_patch_wait(p->s, p->fd, what, p->file, S_FOREVER);
    y_object_mutex_end(p->s, &mine);
    return code < 0 ? -1 : ready;
}

/* Bytes that were written, -1 with an exception, -2 when the original shall do it.  `part`: not
 * more than goes at once. */
static Py_ssize_t write_pieces(place *p, const Py_buffer *data, int part)
{
    const char *from = data->buf;
    Py_ssize_t at = 0;
    while (at < data->len) {
        long done = p_write_some(p->fd, from + at, (size_t)(data->len - at));
        if (done >= 0) {
            at += done;
            continue;
        }
        if (done != -EAGAIN || (part && at > 0))
            break;
        int ready = hold_on(p, P_WRITE);
        if (ready < 0)
            return -1;
        if (ready == 0)
            break;
    }
    return at > 0 ? at : -2;
}

/* The same for an object, and for what takes no pieces. */
static Py_ssize_t write_object(place *p, PyObject *object, int part)
{
    Py_buffer data;
    if (!p_can_write_some(p->fd))
        return p_may_block(p->fd) && hold_on(p, P_WRITE) < 0 ? -1 : -2;
    if (PyObject_GetBuffer(object, &data, PyBUF_SIMPLE) < 0) {
        PyErr_Clear();
        return -2;
    }
    Py_ssize_t written = write_pieces(p, &data, part);
    PyBuffer_Release(&data);
    return written;
}

/* ---- os.read, os.readv, os.write, os.writev, os.close ---------------------------------------- */

/* A descriptor's number, or -1: the original complains. */
static int number_of(PyObject *value)
{
    long number = PyLong_Check(value) ? PyLong_AsLong(value) : -1;
    PyErr_Clear();
    return number >= 0 && number <= INT32_MAX ? (int)number : -1;
}

/* Whether a number, a buffer or a sequence of some is of something. */
static int is_some(PyObject *value)
{
    Py_ssize_t size = 0;
    if (PyLong_Check(value))
        size = PyLong_AsSsize_t(value);
    else if (!PyUnicode_Check(value))
        size = PyObject_Size(value);
    PyErr_Clear();
    return size > 0;
}

static PyObject *read_when_ready(const c_replaced_function *kept, PyObject *const *args,
                                 Py_ssize_t nargs)
{
    place p = {.s = nargs == 2 ? bind_patch_sched() : NULL};
    p.fd = p.s ? number_of(args[0]) : -1;
    if (p.fd >= 0 && is_some(args[1]) && hold_on(&p, P_READ) < 0)
        return NULL;
    return PyObject_Vectorcall(kept->original, args, (size_t)nargs, NULL);
}

static PyObject *read_(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    return read_when_ready(&os_read, args, nargs);
}

static PyObject *readv_(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    return read_when_ready(&os_readv, args, nargs);
}

/* All buffers of a sequence as one, bytes; or NULL without an exception. */
static PyObject *joined(PyObject *buffers)
{
    PyObject *nothing = PySequence_Check(buffers) ? PyBytes_FromStringAndSize(NULL, 0) : NULL;
    PyObject *all = nothing ? PyObject_CallMethod(nothing, "join", "O", buffers) : NULL;
    Py_XDECREF(nothing);
    PyErr_Clear();
    return all;
}

static PyObject *write_when_ready(const c_replaced_function *kept, PyObject *const *args,
                                  Py_ssize_t nargs)
{
    place p = {.s = nargs == 2 ? bind_patch_sched() : NULL};
    p.fd = p.s ? number_of(args[0]) : -1;
    Py_ssize_t written = -2;
    if (p.fd >= 0 && p_may_block(p.fd)) {
        PyObject *data = kept == &os_writev ? joined(args[1]) : Py_NewRef(args[1]);
        if (data != NULL)
            written = write_object(&p, data, 0);
        Py_XDECREF(data);
    }
    if (written == -2)
        return PyObject_Vectorcall(kept->original, args, (size_t)nargs, NULL);
    return written < 0 ? NULL : PyLong_FromSsize_t(written);
}

static PyObject *write_(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    return write_when_ready(&os_write, args, nargs);
}

static PyObject *writev_(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    return write_when_ready(&os_writev, args, nargs);
}

/* Who waits for the number is told, whatever it waits with; not who waits for its next use. */
static PyObject *close_(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames)
{
    s_sched *s;
    b_link waiting;
    (void)module;
    int known = bind_is_ours(&s) && bind_argument_count(nargs, kwnames) == 1;
    i_external_claim(known ? number_of(args[0]) : -1, &waiting);
    PyObject *done = PyObject_Vectorcall(os_close.original, args, (size_t)nargs, kwnames);
    i_external_wake(s, &waiting);
    return done;
}

/* ---- FileIO: as functions of a call, whatever its form -------------------------------------- */

static PyObject *read_parts(PyObject *self);

/* The place of a call that may wait: 1; 0 when the original shall do it. */
static int find_place(place *p, PyObject *self, const char *able)
{
    *p = (place){.s = bind_patch_sched(), .file = self};
    if (p->s == NULL || c_is_finalizing() || is_closed(p) || !p_may_block(p->fd))
        return 0;
    PyObject *yes = PyObject_CallMethod(self, able, NULL);
    PyErr_Clear();
    Py_XDECREF(yes);
    return yes == Py_True;
}

/* With something to be read, or not at all: 0, or -1 with an exception. */
static int may_read(PyObject *self, PyObject *amount)
{
    place p;
    if (!is_some(amount) || !find_place(&p, self, "readable"))
        return 0;
    return hold_on(&p, P_READ) < 0 ? -1 : 0;
}

static int is_negative(PyObject *size)
{
    Py_ssize_t number = PyLong_Check(size) ? PyLong_AsSsize_t(size) : 0;
    int known = !PyErr_Occurred();
    PyErr_Clear();
    return known && number < 0;
}

static PyObject *file_read(const c_method_call *c)
{
    PyObject *size = c->nargs > 0 ? c->args[0] : Py_None;
    if (c->nargs > 1 || c->kwnames != NULL)
        return c_call_original(&stock.read, c);
    if (size == Py_None || is_negative(size)) {
        place p;
        return find_place(&p, c->self, "readable") ? read_parts(c->self)
                                                   : c_call_original(&stock.read, c);
    }
    return may_read(c->self, size) < 0 ? NULL : c_call_original(&stock.read, c);
}

static PyObject *file_readinto(const c_method_call *c)
{
    int known = c->nargs == 1 && c->kwnames == NULL && PyObject_CheckBuffer(c->args[0]);
    if (known && may_read(c->self, c->args[0]) < 0)
        return NULL;
    return c_call_original(&stock.readinto, c);
}

/* A view without an owner is of the memory of a buffer of the io module. */
static int is_of_buffer(PyObject *data)
{
    return PyMemoryView_Check(data) && PyMemoryView_GET_BUFFER(data)->obj == NULL;
}

static PyObject *file_write(const c_method_call *c)
{
    place p;
    Py_ssize_t written = -2;
    if (c->nargs == 1 && c->kwnames == NULL && find_place(&p, c->self, "writable"))
        written = write_object(&p, c->args[0], is_of_buffer(c->args[0]));
    if (written == -2)
        return c_call_original(&stock.write, c);
    return written < 0 ? NULL : PyLong_FromSsize_t(written);
}

static PyObject *file_close(const c_method_call *c)
{
    s_sched *s;
    int fd = bind_is_ours(&s) ? descriptor_of(c->self) : -1;
    PyObject *done = c_call_original(&stock.close, c);
    if (fd >= 0) {
        PyObject *pending = PyErr_GetRaisedException();
        i_external_closed(s, fd, c->self);
        PyErr_SetRaisedException(pending);
    }
    return done;
}

/* ---- FileIO.readall -------------------------------------------------------------------------- */

/* Appends the next part: 1; 0 at the end, or when there is none yet (*last is None then); -1. */
static int append_part(PyObject *self, PyObject *size, PyObject *parts, PyObject **last)
{
    c_method_call c = {.self = self, .cls = stock.read.of_class ? file_type : NULL, .args = &size};
    c.nargs = 1;
    *last = may_read(self, size) < 0 ? NULL : c_call_original(&stock.read, &c);
    if (*last == NULL)
        return -1;
    int more = PyBytes_Check(*last) && PyBytes_GET_SIZE(*last) > 0;
    if (more && PyList_Append(parts, *last) < 0)
        more = -1;
    Py_DECREF(*last);
    return more;
}

static PyObject *read_parts(PyObject *self)
{
    PyObject *parts = PyList_New(0), *size = PyLong_FromLong(MUCH), *last = NULL, *all = NULL;
    int more = parts != NULL && size != NULL ? 1 : -1;
    while (more > 0)
        more = append_part(self, size, parts, &last);
    if (more == 0)
        all = last == Py_None && PyList_GET_SIZE(parts) == 0 ? Py_NewRef(Py_None) : joined(parts);
    Py_XDECREF(parts);
    Py_XDECREF(size);
    return all != NULL || more < 0 ? all : PyErr_NoMemory();
}

static PyObject *file_readall(PyObject *self, PyObject *unused)
{
    place p;
    if (find_place(&p, self, "readable"))
        return read_parts(self);
    return stock.readall(self, unused);
}

/* ---- installing ----------------------------------------------------------------------------- */

/* The two forms in which a version may have a method. */
#define OF_CLASS(name)                                                                             \
    static PyObject *name##_of_class(PyObject *self, PyTypeObject *cls, PyObject *const *args,     \
                                     Py_ssize_t nargs, PyObject *kwnames)                          \
    {                                                                                              \
        c_method_call call = {self, cls, args, nargs, kwnames};                                    \
        return file_##name(&call);                                                                 \
    }
#define WITH_ONE(name)                                                                             \
    static PyObject *name##_plain(PyObject *self, PyObject *arg)                                   \
    {                                                                                              \
        c_method_call call = {self, NULL, &arg, arg != NULL, NULL};                                \
        return file_##name(&call);                                                                 \
    }                                                                                              \
    OF_CLASS(name)
#define FORMS(name, flags)                                                                         \
    {#name, flags, BIND_FN(name##_plain), &stock.name.plain},                                      \
    {                                                                                              \
        #name, C_OF_CLASS, BIND_FN(name##_of_class), &stock.name.of_class                          \
    }

static PyObject *read_plain(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    c_method_call call = {self, NULL, args, nargs, NULL};
    return file_read(&call);
}

OF_CLASS(read)
WITH_ONE(readinto)
WITH_ONE(write)
WITH_ONE(close)

static const c_method_replacement methods[] = {
    FORMS(read, METH_FASTCALL),
    FORMS(readinto, METH_O),
    FORMS(write, METH_O),
    FORMS(close, METH_NOARGS),
    {"readall", METH_NOARGS, file_readall, &stock.readall},
};

static const c_function_replacement functions[] = {
    {"read", METH_FASTCALL, BIND_FN(read_), &os_read},
    {"readv", METH_FASTCALL, BIND_FN(readv_), &os_readv},
    {"write", METH_FASTCALL, BIND_FN(write_), &os_write},
    {"writev", METH_FASTCALL, BIND_FN(writev_), &os_writev},
    {"close", METH_FASTCALL | METH_KEYWORDS, BIND_FN(close_), &os_close},
};

#define METHODS (sizeof(methods) / sizeof(*methods))
#define FUNCTIONS (sizeof(functions) / sizeof(*functions))

static int take_methods(void)
{
    PyObject *module = PyImport_ImportModule("_io");
    PyObject *type = module ? PyObject_GetAttrString(module, "FileIO") : NULL;
    Py_XDECREF(module);
    if (type == NULL)
        return -1;
    Py_XSETREF(file_type, (PyTypeObject *)type);
    return c_methods_replace(file_type, methods, METHODS);
}

int bind_patch_files(int install)
{
    if (install)
        return take_methods() < 0 ? -1 : c_functions_replace("os", functions, FUNCTIONS);
    c_functions_restore(functions, FUNCTIONS);
    if (stock.readall != NULL)
        c_methods_restore(file_type, methods, METHODS);
    return 0;
}
