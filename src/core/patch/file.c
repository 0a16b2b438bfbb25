/* Reading and writing descriptors, and FileIO objects, on which sys.stdin, the pipes of subprocess
 * and all other files are built.
 *
 * Reading: the tasklet waits until there is something, then the original reads.  A file on disk is
 * always ready, so it costs one system call.  Between the two another process may have taken what
 * there was; then the original blocks, as it does after any select().
 *
 * Writing: a descriptor that can be written takes a little at least, and would block for the rest.
 * So pipes and sockets are written in pieces that never block, until all is written, as a blocking
 * descriptor does it.  What a wait that is ended has written by then stays written.  A buffer of
 * the io module is an exception: it knows how much it has handed over only when the call returns.
 * It gets a short count instead of a second wait, and calls again by itself.  A terminal cannot be
 * written in such pieces: once it takes something, the original writes all.
 *
 * A nonblocking descriptor never waits.  Everything else is left to the original, errors too.
 */
#include "patch/file.h"

#include <errno.h>

#include "sched/wake.h"
#include "sync/file_lock.h"

#define READ_SIZE 65536

patch_file_methods patch_file_originals = {{.flags = METH_FASTCALL},
                                           {.flags = METH_O},
                                           {.flags = METH_O},
                                           {.flags = METH_NOARGS},
                                           NULL,
                                           NULL};

/* ---- waiting ------------------------------------------------------------------------------ */

static int descriptor_of_file(PyObject *file)
{
    int fd = PyObject_AsFileDescriptor(file);
    if (fd < 0)
        PyErr_Clear();
    return fd;
}

static int is_closed_file(patch_file *f)
{
    if (f->file != NULL)
        f->fd = descriptor_of_file(f->file);
    return f->fd < 0;
}

int patch_file_begin(patch_file *f, PyObject *file, const char *able)
{
    *f = (patch_file){.s = patch_scheduler(), .file = file};
    if (f->s == NULL || c_is_finalizing() || is_closed_file(f) || !p_may_block(f->fd))
        return 0;
    PyObject *yes = PyObject_CallMethod(file, able, NULL);
    PyErr_Clear();
    Py_XDECREF(yes);
    return yes == Py_True;
}

int patch_file_wait(patch_file *f, unsigned what)
{
    y_object_mutex mutex;
    int code = 0, ready = 0;
    y_object_mutex_begin(f->s, &mutex, f->file);
    while (code == 0 && !is_closed_file(f) && !(ready = p_check_ready(f->fd, what) != -EAGAIN) &&
           p_would_block(f->fd, what))
        code = patch_wait(f->s, f->fd, what, f->file, S_FOREVER);
    y_object_mutex_end(f->s, &mutex);
    return code < 0 ? -1 : ready;
}

int patch_file_wait_readable(PyObject *file)
{
    patch_file f;
    if (!patch_file_begin(&f, file, "readable"))
        return 0;
    return patch_file_wait(&f, P_READ) < 0 ? -1 : 0;
}

/* ---- writing ------------------------------------------------------------------------------ */

static Py_ssize_t write_in_pieces(patch_file *f, const Py_buffer *data, int part)
{
    const char *from = data->buf;
    Py_ssize_t at = 0;
    while (at < data->len) {
        long done = p_write_some(f->fd, from + at, (size_t)(data->len - at));
        if (done >= 0) {
            at += done;
            continue;
        }
        if (done != -EAGAIN || (part && at > 0))
            break;
        int ready = patch_file_wait(f, P_WRITE);
        if (ready < 0)
            return -1;
        if (ready == 0)
            break;
    }
    return at > 0 ? at : PATCH_BY_ORIGINAL;
}

Py_ssize_t patch_file_write(patch_file *f, PyObject *data, int part)
{
    Py_buffer view;
    if (!p_can_write_some(f->fd))
        return p_may_block(f->fd) && patch_file_wait(f, P_WRITE) < 0 ? -1 : PATCH_BY_ORIGINAL;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) {
        PyErr_Clear();
        return PATCH_BY_ORIGINAL;
    }
    Py_ssize_t written = write_in_pieces(f, &view, part);
    PyBuffer_Release(&view);
    return written;
}

/* ---- sending a file ----------------------------------------------------------------------- */

/* As p_send_file_from, by a descriptor that does not block for the time of the call: no flag of the
 * call says so. */
static long send_file_nonblocking(const patch_file_copy *copy, int64_t *at, size_t size)
{
    if (p_set_nonblocking(copy->to) < 0)
        return -EBADF;
    long sent = p_send_file_from(copy->to, copy->from, at, size);
    p_set_blocking(copy->to);
    return sent;
}

Py_ssize_t patch_file_send(s_sched *s, const patch_file_copy *copy)
{
    int64_t position = copy->offset, *at = copy->offset < 0 ? NULL : &position;
    Py_ssize_t done = 0;
    if (patch_may_block(s) < 0)
        return -1;
    while (done < copy->size && p_is_blocking(copy->to)) {
        long sent = send_file_nonblocking(copy, at, (size_t)(copy->size - done));
        if (sent == -EAGAIN) {
            if (patch_wait(s, copy->to, P_WRITE, NULL, S_FOREVER) < 0)
                return -1;
            continue;
        }
        if (sent <= 0)
            return sent == 0 || done > 0 ? done : PATCH_BY_ORIGINAL;
        done += sent;
    }
    return done > 0 ? done : PATCH_BY_ORIGINAL;
}

/* ---- reading all -------------------------------------------------------------------------- */

PyObject *patch_join_buffers(PyObject *buffers)
{
    PyObject *empty = PySequence_Check(buffers) ? PyBytes_FromStringAndSize(NULL, 0) : NULL;
    PyObject *all = empty ? PyObject_CallMethod(empty, "join", "O", buffers) : NULL;
    Py_XDECREF(empty);
    PyErr_Clear();
    return all;
}

/* Appends the next part: 1; 0 at the end, or when there is none yet (*last is None then); -1. */
static int append_part(PyObject *file, PyObject *size, PyObject *parts, PyObject **last)
{
    const patch_file_methods *originals = &patch_file_originals;
    c_method_call call = {.self = file, .args = &size, .nargs = 1};
    call.cls = originals->read.of_class ? originals->type : NULL;
    *last = patch_file_wait_readable(file) < 0 ? NULL : c_call_original(&originals->read, &call);
    if (*last == NULL)
        return -1;
    int more = PyBytes_Check(*last) && PyBytes_GET_SIZE(*last) > 0;
    if (more && PyList_Append(parts, *last) < 0)
        more = -1;
    Py_DECREF(*last);
    return more;
}

PyObject *patch_file_read_all(PyObject *file)
{
    PyObject *parts = PyList_New(0), *size = PyLong_FromLong(READ_SIZE), *last = NULL, *all = NULL;
    int more = parts != NULL && size != NULL ? 1 : -1;
    while (more > 0)
        more = append_part(file, size, parts, &last);
    if (more == 0)
        all = last == Py_None && PyList_GET_SIZE(parts) == 0 ? Py_NewRef(Py_None)
                                                             : patch_join_buffers(parts);
    Py_XDECREF(parts);
    Py_XDECREF(size);
    return all != NULL || more < 0 ? all : PyErr_NoMemory();
}

/* ---- closing ------------------------------------------------------------------------------ */

/* Whether close() of a FileIO closes its descriptor. */
static int closes_descriptor(PyObject *file)
{
    PyObject *yes = PyObject_GetAttrString(file, "closefd");
    PyErr_Clear();
    Py_XDECREF(yes);
    return yes == Py_True;
}

PyObject *patch_file_close(const c_method_call *call)
{
    s_sched *s;
    patch_lock_close locks;
    int fd = patch_in_our_interpreter(&s) ? descriptor_of_file(call->self) : -1;
    int has_locks = fd >= 0 && y_file_lock_any() && closes_descriptor(call->self);
    patch_lock_close_begin(&locks, has_locks ? fd : -1);
    PyObject *done = c_call_original(&patch_file_originals.close, call);
    if (fd >= 0) {
        PyObject *pending = PyErr_GetRaisedException();
        i_external_closed(s, fd, call->self);
        patch_lock_close_end(s, &locks);
        PyErr_SetRaisedException(pending);
    }
    return done;
}

/* Waiters for the next use of the number are left alone. */
PyObject *patch_descriptor_close(int fd, PyObject *original, PyObject *const *args,
                                 Py_ssize_t nargs, PyObject *kwnames)
{
    s_sched *s;
    b_link waiting;
    patch_lock_close locks;
    int ours = patch_in_our_interpreter(&s) ? fd : -1;
    i_external_claim(ours, &waiting);
    patch_lock_close_begin(&locks, ours);
    PyObject *done = PyObject_Vectorcall(original, args, (size_t)nargs, kwnames);
    s_meet_again();
    s_wake_all(s, &waiting, Py_None);
    patch_lock_close_end(s, &locks);
    return done;
}
