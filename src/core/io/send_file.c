/* send_file: the system copies a file to a socket, and Python never sees the bytes.
 *
 * It is one operation in the queue of those that send, so nothing else comes between its parts.
 * The file's descriptor is duplicated for the time it takes: the program may close its own, and
 * the number be used again, while the peer is slow.  Its position is neither used nor moved.
 *
 * Where the system cannot copy (p_send_file) bytes are read and sent in the same place; what was
 * read and not taken is read again.  What is not in memory comes from the disk meanwhile, and
 * the thread waits for it.
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

static const i_op_kind sending_file = {.kind = {.name = "write",
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
    i_op op = {.way = &sending_file, .desc = d, .offset = offset, .size = count};
    op.object = keep_open(file, &op.file, code);
    return op.object != NULL ? i_op_run(s, &op, site, code) : NULL;
}
