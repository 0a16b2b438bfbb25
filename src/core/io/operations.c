/* The operations: what is tried, and what the call returns.
 *
 * Reads of unknown length go through a buffer of the scheduler, so that a bytes object is made only
 * when something has come, and of the right size.  If that allocation fails, the bytes are lost:
 * the caller gets MemoryError, and the stream is of no use.  Where much has come before
 * (i_desc.bulk) reads go straight into a bytes object, which saves copying; the scheduler keeps one
 * until something has come, so that a waiting tasklet holds none.
 */
#include "io/internal.h"

void *i_scratch(s_sched *s)
{
    if (B_UNLIKELY(s->io_scratch == NULL) && !c_out_of_memory())
        s->io_scratch = PyMem_RawMalloc(I_SCRATCH);
    return s->io_scratch;
}

#define OP_KIND(word, side, ends, tries, makes)                                                    \
    {.wait = {.name = word,                                                                        \
              .detach = i_op_detach,                                                               \
              .target = i_op_target,                                                               \
              .arrived = i_op_arrived},                                                            \
     .what = side,                                                                                 \
     .iterates = ends,                                                                             \
     .attempt = tries,                                                                             \
     .result = makes}

/* ---- receive ------------------------------------------------------------------ */

/* One more than the number of bytes, because 0 is for "would have to wait". */
static long receive_to(i_op *op, char *to, int fd)
{
    long got = p_receive(fd, to, (size_t)op->size);
    if (got < 0)
        return got;
    op->at = got;
    op->emptied = got > 0 && got < op->size;
    return got + 1;
}

/* So many bytes at once are worth a bytes object of their own. */
#define BULK (I_SCRATCH / 4)

static char *buffer_for(s_sched *s, const i_op *op)
{
    if (!op->desc->bulk || op->size < I_SCRATCH || c_out_of_memory())
        return s->io_scratch;
    if (s->io_spare == NULL && (s->io_spare = PyBytes_FromStringAndSize(NULL, I_SCRATCH)) == NULL) {
        PyErr_Clear();
        return s->io_scratch;
    }
    return PyBytes_AS_STRING(s->io_spare);
}

static long receive_some(s_sched *s, i_op *op, int fd)
{
    op->data = buffer_for(s, op);
    long outcome = receive_to(op, op->data, fd);
    if (outcome > 0)
        op->desc->bulk = op->at >= BULK;
    return outcome;
}

static PyObject *take_received(s_sched *s, i_op *op)
{
    if (op->data == s->io_scratch || op->at < BULK)
        return PyBytes_FromStringAndSize(op->data, op->at);
    PyObject *bytes = s->io_spare;
    s->io_spare = NULL;
    return c_bytes_shorten(bytes, op->at);
}

static PyObject *take_received_next(s_sched *s, i_op *op)
{
    return op->at > 0 ? take_received(s, op) : NULL;
}

static const i_op_kind receiving = OP_KIND("read", P_READ, 0, receive_some, take_received);
static const i_op_kind iterating = OP_KIND("read", P_READ, 1, receive_some, take_received_next);

PyObject *i_receive(s_sched *s, i_desc *d, Py_ssize_t most, const c_call_site *site, int *code)
{
    i_op op = {.kind = site->kind == C_ITER ? &iterating : &receiving, .desc = d};
    op.size = most < I_SCRATCH ? most : I_SCRATCH;
    if (i_scratch(s) != NULL)
        return i_op_run(s, &op, site, code);
    *code = S_E_MEMORY;
    return NULL;
}

static const i_op_kind receiving_until = {.wait = {.name = "read",
                                                   .detach = i_op_detach,
                                                   .target = i_op_target,
                                                   .arrived = i_op_arrived,
                                                   .late = Py_None},
                                          .what = P_READ,
                                          .attempt = receive_some,
                                          .result = take_received};

PyObject *i_receive_until(s_sched *s, i_desc *d, int64_t until, const c_call_site *site, int *code)
{
    i_op op = {.kind = &receiving_until, .desc = d, .size = I_SCRATCH};
    if (i_scratch(s) != NULL)
        return i_op_run_until(s, &op, until, site, code);
    *code = S_E_MEMORY;
    return NULL;
}

/* ---- receive into a given buffer ------------------------------------------------------ */

static long receive_into(s_sched *s, i_op *op, int fd)
{
    (void)s;
    return receive_to(op, op->data, fd);
}

static PyObject *count_received(s_sched *s, i_op *op)
{
    (void)s;
    return PyLong_FromSsize_t(op->at);
}

static const i_op_kind receiving_into = OP_KIND("read", P_READ, 0, receive_into, count_received);

PyObject *i_receive_into(s_sched *s, i_desc *d, PyObject *into, const c_call_site *site, int *code)
{
    i_op op = {.kind = &receiving_into, .desc = d, .object = into};
    op.data = PyMemoryView_GET_BUFFER(into)->buf;
    op.size = PyMemoryView_GET_BUFFER(into)->len;
    return i_op_run(s, &op, site, code);
}

/* ---- receive exactly ------------------------------------------------------------------- */

static long receive_rest(s_sched *s, i_op *op, int fd)
{
    (void)s;
    while (op->at < op->size) {
        long got = p_receive(fd, op->data + op->at, (size_t)(op->size - op->at));
        if (got < 0)
            return got;
        if (got == 0)
            break;
        op->at += got;
    }
    return 1;
}

/* The exception says what came instead. */
static PyObject *raise_too_few(i_op *op)
{
    PyObject *about = Py_BuildValue("(Ony#)", op->desc->owner, op->size, op->data, op->at);
    PyObject *error = about ? s_hook.error(S_E_ENDED, about) : NULL;
    Py_XDECREF(about);
    if (error != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return NULL;
}

static PyObject *take_received_all(s_sched *s, i_op *op)
{
    (void)s;
    if (op->at < op->size)
        return raise_too_few(op);
    PyObject *bytes = op->object;
    op->object = NULL;
    return bytes;
}

static const i_op_kind receiving_exactly =
    OP_KIND("read", P_READ, 0, receive_rest, take_received_all);

PyObject *i_receive_exactly(s_sched *s, i_desc *d, Py_ssize_t count, const c_call_site *site,
                            int *code)
{
    i_op op = {.kind = &receiving_exactly, .desc = d, .size = count};
    op.object = PyBytes_FromStringAndSize(NULL, count);
    if (op.object == NULL) {
        *code = S_E_SET;
        return NULL;
    }
    op.data = PyBytes_AS_STRING(op.object);
    return i_op_run(s, &op, site, code);
}

/* ---- send ---------------------------------------------------------------------------------- */

static long send_rest(s_sched *s, i_op *op, int fd)
{
    (void)s;
    while (op->at < op->size) {
        long sent = p_send(fd, op->data + op->at, (size_t)(op->size - op->at));
        if (sent < 0)
            return sent;
        op->at += sent;
    }
    return 1;
}

static PyObject *return_none(s_sched *s, i_op *op)
{
    (void)s, (void)op;
    return Py_NewRef(Py_None);
}

static const i_op_kind sending = OP_KIND("write", P_WRITE, 0, send_rest, return_none);

PyObject *i_send_all(s_sched *s, i_desc *d, PyObject *data, const c_call_site *site, int *code)
{
    i_op op = {.kind = &sending, .desc = d, .object = data};
    if (PyBytes_CheckExact(data)) {
        op.data = PyBytes_AS_STRING(data);
        op.size = PyBytes_GET_SIZE(data);
    } else {
        op.data = PyMemoryView_GET_BUFFER(data)->buf;
        op.size = PyMemoryView_GET_BUFFER(data)->len;
    }
    return i_op_run(s, &op, site, code);
}

Py_ssize_t i_try_send(s_sched *s, i_desc *d, const char *from, Py_ssize_t size)
{
    i_op op = {.kind = &sending, .desc = d, .data = (char *)from, .size = size};
    long outcome = i_op_try(s, &op);
    return outcome < 0 ? outcome : op.at;
}

int i_send_end(i_desc *d)
{
    c_lock_take(&d->lock);
    int done = d->fd < 0 ? S_E_DESCRIPTOR : p_send_end(d->fd);
    c_lock_give(&d->lock);
    return done < 0 && done != S_E_DESCRIPTOR ? S_E_SYSTEM + done : done;
}

/* ---- connections --------------------------------------------------------------------------- */

/* A connection that the peer has given up before it was accepted is skipped. */
static long accept_one(s_sched *s, i_op *op, int fd)
{
    int got;
    (void)s;
    do
        got = p_accept(fd);
    while (got == -ECONNABORTED || got == -EPROTO);
    if (got < 0)
        return got;
    op->size = got;
    return 1;
}

static PyObject *make_accepted(s_sched *s, i_op *op)
{
    (void)s;
    PyObject *made = i_hook.accepted(op->desc->owner, (int)op->size);
    if (made == NULL)
        p_close((int)op->size);
    return made;
}

static const i_op_kind accepting = OP_KIND("accept", P_READ, 0, accept_one, make_accepted);
static const i_op_kind accepting_next = OP_KIND("accept", P_READ, 1, accept_one, make_accepted);

PyObject *i_accept(s_sched *s, i_desc *d, const c_call_site *site, int *code)
{
    i_op op = {.kind = site->kind == C_ITER ? &accepting_next : &accepting, .desc = d};
    return i_op_run(s, &op, site, code);
}

/* ---- readiness alone ------------------------------------------------------------------------- */

static long ask_readable(s_sched *s, i_op *op, int fd)
{
    (void)s, (void)op;
    int outcome = p_check_ready(fd, P_READ);
    return outcome < 0 ? outcome : 1;
}

static long ask_writable(s_sched *s, i_op *op, int fd)
{
    (void)s, (void)op;
    int outcome = p_check_ready(fd, P_WRITE);
    return outcome < 0 ? outcome : 1;
}

static const i_op_kind until_readable = OP_KIND("read", P_READ, 0, ask_readable, return_none);
static const i_op_kind until_writable = OP_KIND("write", P_WRITE, 0, ask_writable, return_none);

PyObject *i_wait_ready(s_sched *s, i_desc *d, unsigned what, const c_call_site *site, int *code)
{
    i_op op = {.kind = what == P_READ ? &until_readable : &until_writable, .desc = d};
    return i_op_run(s, &op, site, code);
}

static PyObject *return_true(s_sched *s, i_op *op)
{
    (void)s, (void)op;
    return Py_NewRef(Py_True);
}

static const i_op_kind until_woken = {.wait = {.name = "read",
                                               .detach = i_op_detach,
                                               .target = i_op_target,
                                               .arrived = i_op_arrived,
                                               .late = Py_False},
                                      .what = P_READ,
                                      .attempt = ask_readable,
                                      .result = return_true};

PyObject *i_wait_woken(s_sched *s, i_desc *d, int64_t until, const c_call_site *site, int *code)
{
    i_op op = {.kind = &until_woken, .desc = d};
    return i_op_run_until(s, &op, until, site, code);
}

int i_wake_reader(s_sched *s, i_desc *d)
{
    return i_op_finish_first(s, d, &until_woken);
}

static long ask_connected(s_sched *s, i_op *op, int fd)
{
    (void)s, (void)op;
    int outcome = p_connect_result(fd);
    return outcome < 0 ? outcome : 1;
}

static const i_op_kind connecting = OP_KIND("connect", P_WRITE, 0, ask_connected, return_none);

PyObject *i_wait_connected(s_sched *s, i_desc *d, const c_call_site *site, int *code)
{
    i_op op = {.kind = &connecting, .desc = d};
    return i_op_run(s, &op, site, code);
}
