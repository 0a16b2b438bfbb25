/* send_file: the system copies a file to a socket, and Python never sees the bytes.
 *
 * It is one operation in the queue of senders, so nothing else is sent between its parts.  The
 * file's descriptor is duplicated meanwhile: the program may close its own, and the number may be
 * reused, while the peer is slow.  The file's position is neither used nor moved.
 *
 * Where the system cannot copy, p_send_file reads and sends; bytes that were read and not sent are
 * read again.  The thread waits for the disk if the file is not in memory.
 */
#include "io/internal.h"

#define FILE_KEY "loomlet.file"

static long send_file(s_sched *s, i_op *op, int fd)
{
    (void)s;
    while (op->at < op->size) {
        size_t rest = (size_t)(op->size - op->at);
        long sent = p_send_file(fd, op->file, op->offset + op->at, rest);
        if (sent < 0)
            return sent;
        if (sent == 0)
            break; /* the file is shorter */
        op->at += sent;
    }
    return 1;
}

static PyObject *count_sent(s_sched *s, i_op *op)
{
    (void)s;
    return PyLong_FromSsize_t(op->at);
}

static const i_op_kind sending_file = {.wait = {.name = "write",
                                                .detach = i_op_detach,
                                                .target = i_op_target,
                                                .arrived = i_op_arrived},
                                       .what = P_WRITE,
                                       .attempt = send_file,
                                       .result = count_sent};

static void close_copy(PyObject *capsule)
{
    p_close((int)((intptr_t)PyCapsule_GetPointer(capsule, FILE_KEY) - 1));
}

/* Owns a copy of the file's descriptor, *copy; NULL and *code. */
static PyObject *keep_open(int file, int *copy, int *code)
{
    *copy = p_duplicate(file);
    if (*copy < 0) {
        *code = S_E_SYSTEM + *copy;
        return NULL;
    }
    void *kept = (void *)((intptr_t)*copy + 1);
    PyObject *capsule = c_out_of_memory() ? NULL : PyCapsule_New(kept, FILE_KEY, close_copy);
    if (capsule == NULL)
        p_close(*copy);
    *code = capsule != NULL ? S_OK : S_E_MEMORY;
    return capsule;
}

PyObject *i_send_file(s_sched *s, i_desc *d, int file, int64_t offset, Py_ssize_t count,
                      const c_call_site *site, int *code)
{
    i_op op = {.kind = &sending_file, .desc = d, .offset = offset, .size = count};
    op.object = keep_open(file, &op.file, code);
    return op.object != NULL ? i_op_run(s, &op, site, code) : NULL;
}
