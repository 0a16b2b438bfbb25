/* Frames of a WebSocket as Python objects: http/frame.h for the messages that come, and the frames
 * that go out.
 *
 * Bytes that are handed on to another reader are a bytearray, so that they cannot be taken for a
 * message.  What has come of a frame and is not enough is kept in `kept`.
 *
 * Threads: one reader; write() has no state.
 */
#include "bind/http/http.h"
#include "http/frame.h"

#define SELF ((bind_http_frames *)self)
#define SMALL 4096

typedef struct {
    PyObject_HEAD
    t_frames frames;
    t_buffer kept;
} bind_http_frames;

/* ---- reading --------------------------------------------------------------------------------- */

static PyObject *make_bytes(const t_frame *frame)
{
    PyObject *message = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)frame->payload.size);
    if (message != NULL)
        t_unmask(PyBytes_AS_STRING(message), frame);
    return message;
}

/* A new str; NULL with UnicodeDecodeError when the bytes are no UTF-8. */
static PyObject *make_text(const t_frame *frame)
{
    char small[SMALL];
    size_t size = frame->payload.size;
    char *clear = size <= SMALL ? small : PyMem_Malloc(size);
    if (clear == NULL)
        return PyErr_NoMemory();
    t_unmask(clear, frame);
    PyObject *message = PyUnicode_DecodeUTF8(clear, (Py_ssize_t)size, NULL);
    if (clear != small)
        PyMem_Free(clear);
    return message;
}

/* The next part of what has come; NULL without an exception: more has to come. */
static PyObject *make_part(t_frames *frames, const char *bytes, size_t size, size_t *used)
{
    t_frame frame;
    PyObject *message = NULL;
    int kind = t_next_frame(frames, bytes, size, used, &frame);
    if (kind == T_FRAME_PART)
        return NULL;
    if (kind == T_FRAME_BYTES)
        return make_bytes(&frame);
    if (kind == T_FRAME_TEXT) {
        message = make_text(&frame);
        if (message != NULL || !PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
            return message;
        PyErr_Clear();
        frames->given_up = 1;
        *used = size;
    }
    return PyByteArray_FromStringAndSize(bytes, (Py_ssize_t)*used);
}

/* Appends the parts to the list: how many bytes they were, or -1. */
static Py_ssize_t add_parts(t_frames *frames, const char *bytes, size_t size, PyObject *parts)
{
    size_t at = 0;
    while (at < size) {
        size_t used;
        PyObject *part = make_part(frames, bytes + at, size - at, &used);
        if (part == NULL)
            return PyErr_Occurred() ? -1 : (Py_ssize_t)at;
        int code = PyList_Append(parts, part);
        Py_DECREF(part);
        if (code < 0)
            return -1;
        at += used;
    }
    return (Py_ssize_t)at;
}

static int keep_for_later(bind_http_frames *self, const char *bytes, size_t size)
{
    if (t_reserve(&self->kept, size) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    t_put(&self->kept, bytes, size);
    return 0;
}

static void drop_kept(t_buffer *kept, size_t count)
{
    kept->size -= count;
    if (kept->size == 0)
        t_release(kept);
    else if (count > 0)
        memmove(kept->bytes, kept->bytes + count, kept->size);
}

static int feed_bytes(bind_http_frames *self, const char *bytes, size_t size, PyObject *parts)
{
    if (self->kept.size == 0) {
        Py_ssize_t used = add_parts(&self->frames, bytes, size, parts);
        if (used < 0 || (size_t)used == size)
            return used < 0 ? -1 : 0;
        return keep_for_later(self, bytes + used, size - (size_t)used);
    }
    if (keep_for_later(self, bytes, size) < 0)
        return -1;
    Py_ssize_t used = add_parts(&self->frames, self->kept.bytes, self->kept.size, parts);
    if (used >= 0)
        drop_kept(&self->kept, (size_t)used);
    return used < 0 ? -1 : 0;
}

static PyObject *frames_feed(PyObject *self, PyObject *data)
{
    Py_buffer view;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    PyObject *parts = PyList_New(0);
    if (parts != NULL && feed_bytes(SELF, view.buf, (size_t)view.len, parts) < 0)
        Py_CLEAR(parts);
    PyBuffer_Release(&view);
    return parts;
}

/* ---- writing --------------------------------------------------------------------------------- */

static PyObject *make_frame(int is_text, const char *payload, Py_ssize_t size)
{
    char head[T_FRAME_HEAD];
    Py_ssize_t head_size = (Py_ssize_t)t_write_frame_head(head, is_text, (uint64_t)size);
    PyObject *frame = PyBytes_FromStringAndSize(NULL, head_size + size);
    if (frame == NULL)
        return NULL;
    memcpy(PyBytes_AS_STRING(frame), head, (size_t)head_size);
    memcpy(PyBytes_AS_STRING(frame) + head_size, payload, (size_t)size);
    return frame;
}

static PyObject *frames_write(PyObject *self, PyObject *message)
{
    if (PyBytes_Check(message))
        return make_frame(0, PyBytes_AS_STRING(message), PyBytes_GET_SIZE(message));
    if (PyUnicode_Check(message)) {
        Py_ssize_t size;
        const char *payload = PyUnicode_AsUTF8AndSize(message, &size);
        return payload != NULL ? make_frame(1, payload, size) : NULL;
    }
    if (!PyByteArray_Check(message) && !PyMemoryView_Check(message)) {
        PyErr_Format(PyExc_TypeError, "expected str or bytes, found %R", message);
        return NULL;
    }
    PyObject *copy = PyBytes_FromObject(message);
    PyObject *frame = copy != NULL ? frames_write(self, copy) : NULL;
    Py_XDECREF(copy);
    return frame;
}

/* ---- the type -------------------------------------------------------------------------------- */

static PyObject *frames_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", NULL};
    Py_ssize_t most;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "n:WebSocketFrames", names, &most))
        return NULL;
    PyObject *self = type->tp_alloc(type, 0);
    if (self != NULL)
        SELF->frames.most = most > 0 ? (uint64_t)most : 0;
    return self;
}

static void frames_dealloc(PyObject *self)
{
    t_release(&SELF->kept);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef methods[] = {
    {"feed", frames_feed, METH_O,
     PyDoc_STR("feed($self, data, /)\n--\n\n"
               "A list of what has come: messages, and of what another reader has to read,\n"
               "bytearray.")},
    {"write", frames_write, METH_O,
     PyDoc_STR("write($self, message, /)\n--\n\nThe frame of a server for a message.")},
    {NULL, NULL, 0, NULL},
};

PyTypeObject bind_http_frames_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.WebSocketFrames",
    .tp_doc =
        PyDoc_STR("WebSocketFrames(most, /)\n--\n\n"
                  "What a client sends by a WebSocket: feed(data) gives a list of messages,\n"
                  "str and bytes of at most `most` bytes, and of what another reader has to\n"
                  "read, bytearray.  write(message) gives the frame of a server.  One reader."),
    .tp_basicsize = sizeof(bind_http_frames),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = frames_new,
    .tp_methods = methods,
    .tp_dealloc = frames_dealloc,
};
