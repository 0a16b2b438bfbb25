/* The buffers of the io module for tasklets: BufferedReader and BufferedWriter.
 *
 * A buffer calls its FileIO under a lock that belongs to an OS thread.  While a tasklet waits in
 * that call (files.c), another one of the same thread would be told of a reentrant call:
 * two that print into a full pipe, for example.  So who comes second waits before it touches the
 * buffer.  One load is what that costs when nobody waits.
 *
 * Another thread waits in the buffer's lock, as ever, and its tasklets with it.  What is not here
 * (peek, detach) raises RuntimeError in the midst of another tasklet's call, as CPython says it.
 *
 * Rejected: a lock of our own for each buffer, which every call would pay for.
 */
#include "bind/patch/patch.h"
#include "sync/object_mutex.h"

typedef PyObject *(*fast_call)(PyObject *self, PyObject *const *args, Py_ssize_t nargs);

static PyTypeObject *reader_type, *writer_type;
static struct {
    PyCFunction read, read1, readline, readinto, readinto1, close;
} reader;
static struct {
    PyCFunction write, flush, close;
} writer;

static int wait_for_turn(PyObject *buffer)
{
    s_sched *s = c_is_finalizing() ? NULL : bind_patch_sched();
    PyObject *raw = s ? PyObject_GetAttrString(buffer, "raw") : NULL;
    if (raw == NULL) {
        PyErr_Clear();
        return 0; /* the original tells what is wrong */
    }
    int code;
    PyObject *done = y_object_mutex_wait(s, raw, &code);
    bind_result(done, code, (PyObject *)s->current);
    Py_DECREF(raw);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

/* 0 when nobody of this thread is in the midst of a call, or -1 with an exception. */
static inline int take_turn(PyObject *buffer)
{
    return y_object_mutex_any() ? wait_for_turn(buffer) : 0;
}

#define PLAIN(buffer, name)                                                                        \
    static PyObject *buffer##_##name(PyObject *self, PyObject *arg)                                \
    {                                                                                              \
        return take_turn(self) < 0 ? NULL : buffer.name(self, arg);                                \
    }
#define FAST(buffer, name)                                                                         \
    static PyObject *buffer##_##name(PyObject *self, PyObject *const *args, Py_ssize_t nargs)      \
    {                                                                                              \
        fast_call original = (fast_call)(void (*)(void))buffer.name;                               \
        return take_turn(self) < 0 ? NULL : original(self, args, nargs);                           \
    }

FAST(reader, read)
FAST(reader, read1)
FAST(reader, readline)
PLAIN(reader, readinto)
PLAIN(reader, readinto1)
PLAIN(reader, close)
PLAIN(writer, write)
PLAIN(writer, flush)
PLAIN(writer, close)

static const c_method_replacement readers[] = {
    {"read", METH_FASTCALL, BIND_FN(reader_read), &reader.read},
    {"read1", METH_FASTCALL, BIND_FN(reader_read1), &reader.read1},
    {"readline", METH_FASTCALL, BIND_FN(reader_readline), &reader.readline},
    {"readinto", METH_O, reader_readinto, &reader.readinto},
    {"readinto1", METH_O, reader_readinto1, &reader.readinto1},
    {"close", METH_NOARGS, reader_close, &reader.close},
};
static const c_method_replacement writers[] = {
    {"write", METH_O, writer_write, &writer.write},
    {"flush", METH_NOARGS, writer_flush, &writer.flush},
    {"close", METH_NOARGS, writer_close, &writer.close},
};

#define READERS (sizeof(readers) / sizeof(*readers))
#define WRITERS (sizeof(writers) / sizeof(*writers))

static int take_types(void)
{
    PyObject *module = PyImport_ImportModule("_io");
    PyObject *r = module ? PyObject_GetAttrString(module, "BufferedReader") : NULL;
    PyObject *w = r ? PyObject_GetAttrString(module, "BufferedWriter") : NULL;
    Py_XSETREF(reader_type, (PyTypeObject *)r);
    Py_XSETREF(writer_type, (PyTypeObject *)w);
    Py_XDECREF(module);
    return w ? 0 : -1;
}

int bind_patch_buffers(int install)
{
    if (install)
        return take_types() < 0 || c_methods_replace(reader_type, readers, READERS) < 0
                   ? -1
                   : c_methods_replace(writer_type, writers, WRITERS);
    if (reader.read != NULL)
        c_methods_restore(reader_type, readers, READERS);
    if (writer.write != NULL)
        c_methods_restore(writer_type, writers, WRITERS);
    return 0;
}
