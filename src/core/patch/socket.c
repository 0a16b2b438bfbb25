/* Receiving and sending bytes with a builtin socket.
 *
 * A transfer is tried at once by a system call that never blocks, whatever the descriptor's mode.
 * When it would block, the tasklet waits for the descriptor (io/external.c) and tries again, until
 * the socket's own timeout.
 *
 * A receive goes through a buffer of the scheduler, and a bytes object is made when its size is
 * known; but straight into the object when it is small, must be filled, or is larger than the
 * buffer.
 *
 * The GIL is kept over a system call that does not block.  MSG_WAITALL waits for all bytes.
 */
#include "patch/socket.h"

#include <errno.h>

#include "io/io.h"
#include "patch/nonblocking.h"

#define SMALL 256 /* bytes */

patch_socket_methods patch_socket_originals;

typedef struct transfer {
    long (*attempt)(struct transfer *x); /* how many bytes, or minus an errno */
    unsigned what;                       /* P_READ, P_WRITE */
    PyObject *socket;
    int fd; /* of the last try */
    char *data;
    Py_ssize_t size, done;
    int flags;
    int all; /* it ends when all bytes are transferred */
} transfer;

static int wait_in_time(s_sched *s, int fd, unsigned what, PyObject *socket, int64_t until)
{
    int late = patch_wait(s, fd, what, socket, until);
    if (late > 0)
        PyErr_SetString(PyExc_TimeoutError, "timed out");
    return late == 0 ? 0 : -1;
}

int patch_socket_wait(s_sched *s, PyObject *socket, unsigned what, int64_t until)
{
    return wait_in_time(s, c_socket_fd(socket), what, socket, until);
}

/* ---- a transfer ------------------------------------------------------------------------- */

static long attempt_receive(transfer *x)
{
    return p_receive_with_flags(x->fd, x->data + x->done, (size_t)(x->size - x->done), x->flags);
}

static long attempt_send(transfer *x)
{
    return p_send_with_flags(x->fd, x->data + x->done, (size_t)(x->size - x->done), x->flags);
}

/* Transfers what can be without blocking: 0, or minus an errno. */
static long continue_transfer(transfer *x)
{
    long moved;
    x->fd = c_socket_fd(x->socket);
    do {
        moved = x->attempt(x);
        if (moved < 0)
            return moved;
        x->done += moved;
    } while (moved > 0 && x->all && x->done < x->size);
    return 0;
}

/* 1 when it is worth another try, 0 when the user does not let the socket or this call block, or
 * -1.  With a timeout the socket is waited for in spite of MSG_DONTWAIT, as in the original. */
static int wait_unless_nonblocking(s_sched *s, const transfer *x, int64_t *until)
{
    int64_t timeout;
    if (!patch_socket_may_block(x->socket, &timeout) ||
        (timeout < 0 && p_flags_never_wait(x->flags)))
        return 0;
    if (*until < 0)
        *until = patch_deadline(s, timeout);
    return wait_in_time(s, x->fd, x->what, x->socket, *until) < 0 ? -1 : 1;
}

/* 0 or -1.  What has been received before an error is the result; the error comes next time. */
static int run_transfer(s_sched *s, transfer *x)
{
    int64_t until = -1;
    int waited;
    long error;
    if (patch_may_block(s) < 0)
        return -1;
    do {
        error = continue_transfer(x);
        waited = error == -EAGAIN ? wait_unless_nonblocking(s, x, &until) : 0;
    } while (waited > 0);
    if (waited < 0)
        return -1;
    int received = x->what == P_READ && x->done > 0 && error != -EAGAIN;
    return error == 0 || received ? 0 : patch_raise_errno((int)-error);
}

/* ---- receive and send --------------------------------------------------------------------- */

/* Into a bytes object of that size. */
static PyObject *receive_into_bytes(s_sched *s, transfer *x)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, x->size), *part;
    if (bytes == NULL)
        return NULL;
    x->data = PyBytes_AS_STRING(bytes);
    if (run_transfer(s, x) < 0)
        Py_CLEAR(bytes);
    if (bytes == NULL || x->done == x->size)
        return bytes;
    part = PyBytes_FromStringAndSize(x->data, x->done);
    Py_DECREF(bytes);
    return part;
}

PyObject *patch_socket_receive(s_sched *s, PyObject *socket, Py_ssize_t size, int flags)
{
    int all = flags != 0 && p_flags_wait_all(flags);
    transfer x = {attempt_receive, P_READ, socket, -1, NULL, size, 0, flags, all};
    x.data = all || size <= SMALL || size > I_SCRATCH ? NULL : i_scratch(s);
    if (x.data == NULL)
        return receive_into_bytes(s, &x);
    return run_transfer(s, &x) < 0 ? NULL : PyBytes_FromStringAndSize(x.data, x.done);
}

Py_ssize_t patch_socket_receive_into(s_sched *s, PyObject *socket, char *to, Py_ssize_t size,
                                     int flags)
{
    transfer x = {attempt_receive, P_READ, socket, -1, to, size, 0, flags, p_flags_wait_all(flags)};
    return run_transfer(s, &x) < 0 ? -1 : x.done;
}

Py_ssize_t patch_socket_send(s_sched *s, PyObject *socket, char *from, Py_ssize_t size, int flags,
                             int all)
{
    transfer x = {attempt_send, P_WRITE, socket, -1, from, size, 0, flags, all};
    return run_transfer(s, &x) < 0 ? -1 : x.done;
}
