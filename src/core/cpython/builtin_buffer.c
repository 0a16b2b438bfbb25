/* The buffers of the io module: where one keeps its raw stream and how much it has read.
 *
 * A buffer begins with its raw stream; a few words later come three positions: of the next byte in
 * the buffer, of the raw stream, and of the buffer's end, which is -1 when nothing has been read.
 * The first one's offset differs between versions.  It is searched when the patch is installed, in
 * a buffer that has read a number of bytes that occurs nowhere else, and must be found exactly
 * once; then all are read and the end is looked at.
 */
#include "cpython/layout.h" /* before anything that takes Python.h */

#include "cpython/builtin_buffer.h"

#define SIZE 3001 /* of the buffer that is searched */
#define READ 1009

typedef struct {
    PyObject_HEAD
    PyObject *raw;
} buffer_object;

typedef struct {
    int64_t next, of_raw, end;
} buffer_positions;

static size_t positions_offset;

static const buffer_positions *positions_of(PyObject *buffer)
{
    return (const buffer_positions *)((const char *)buffer + positions_offset);
}

PyObject *c_buffer_raw(PyObject *buffer)
{
    return ((buffer_object *)buffer)->raw;
}

int c_reader_is_empty(PyObject *reader)
{
    const buffer_positions *at = positions_of(reader);
    return at->end < 0 || at->next >= at->end;
}

/* ---- verifying the layout ----------------------------------------------------------- */

static int find_positions(PyObject *reader, PyTypeObject *type)
{
    size_t end = (size_t)type->tp_basicsize - sizeof(buffer_positions);
    int found = 0;
    for (size_t at = sizeof(buffer_object); at <= end; at += sizeof(int64_t)) {
        const buffer_positions *here = (const buffer_positions *)((char *)reader + at);
        if (here->next == READ && here->of_raw == SIZE && here->end == SIZE) {
            positions_offset = at;
            found++;
        }
    }
    return found;
}

static int read_bytes(PyObject *reader, int count)
{
    PyObject *done = PyObject_CallMethod(reader, "read", "i", count);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

/* 1 when all is found, 0 when not, -1 with an exception. */
static int verify_reader_layout(PyObject *reader, PyTypeObject *type, const PyObject *raw)
{
    if (read_bytes(reader, READ) < 0)
        return -1;
    if (c_buffer_raw(reader) != raw || find_positions(reader, type) != 1 ||
        c_reader_is_empty(reader))
        return 0;
    return read_bytes(reader, SIZE - READ) < 0 ? -1 : c_reader_is_empty(reader);
}

static PyObject *make_raw(void)
{
    PyObject *io = PyImport_ImportModule("_io");
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, 2 * (Py_ssize_t)SIZE);
    PyObject *raw = io && bytes ? PyObject_CallMethod(io, "BytesIO", "O", bytes) : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(io);
    return raw;
}

int c_buffer_find(PyTypeObject *reader_type, PyTypeObject *writer_type)
{
    int right = -1;
    PyObject *raw = make_raw(), *writer = NULL;
    PyObject *reader =
        raw != NULL ? PyObject_CallFunction((PyObject *)reader_type, "Oi", raw, SIZE) : NULL;
    if (reader != NULL)
        writer = PyObject_CallFunction((PyObject *)writer_type, "O", raw);
    if (writer != NULL)
        right = verify_reader_layout(reader, reader_type, raw);
    if (right > 0)
        right = c_buffer_raw(writer) == raw;
    if (right == 0)
        PyErr_SetString(PyExc_RuntimeError,
                        "io.BufferedReader is not laid out as expected: its positions were found "
                        "nowhere, or more than once; loomlet cannot patch it on this interpreter");
    Py_XDECREF(writer);
    Py_XDECREF(reader);
    Py_XDECREF(raw);
    return right > 0 ? 0 : -1;
}
