/* The buffers of the io module, BufferedReader and BufferedWriter: installing.
 *
 * A buffer calls its FileIO under a lock that belongs to an OS thread.  While a tasklet waits in
 * that call (patch/file.c), a call of another tasklet of the same thread would fail as a reentrant
 * one: when two print into a full pipe, for example.  So the second one waits before it touches the
 * buffer.  That costs one load when no tasklet waits.
 *
 * A thread that finds the buffer in use by another thread still blocks in the buffer's lock, and so
 * do all of its tasklets.  Methods that are not replaced here (peek, detach) raise RuntimeError
 * while another tasklet's call is in progress, as CPython's do.
 *
 * Rejected: a lock of our own for each buffer, which every call would pay for.
 */
#include "patch/buffer.h"
#include "bind/patch/patch.h"

static PyTypeObject *reader_type, *writer_type;
static struct {
    PyCFunction read, read1, readline, readinto, readinto1, close;
} reader;
static struct {
    PyCFunction write, flush, close;
} writer;

#define PLAIN(buffer, name)                                                                        \
    static PyObject *buffer##_##name(PyObject *self, PyObject *arg)                                \
    {                                                                                              \
        return patch_buffer_enter(self) < 0 ? NULL : buffer.name(self, arg);                       \
    }
#define READS(name)                                                                                \
    static PyObject *reader_##name(PyObject *self, PyObject *const *args, Py_ssize_t nargs)        \
    {                                                                                              \
        patch_fast_call original = (patch_fast_call)(void (*)(void))reader.name;                   \
        c_call_site site = BIND_SITE(self, args, nargs, reader_##name);                            \
        return patch_buffer_enter(self) < 0 ? NULL : patch_reader_call(self, original, &site);     \
    }

READS(read)
READS(read1)
READS(readline)
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

static int find_buffer_types(void)
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
        return find_buffer_types() < 0 || patch_buffers_prepare(reader_type, writer_type) < 0 ||
                       c_methods_replace(reader_type, readers, READERS) < 0
                   ? -1
                   : c_methods_replace(writer_type, writers, WRITERS);
    if (reader.read != NULL)
        c_methods_restore(reader_type, readers, READERS);
    if (writer.write != NULL)
        c_methods_restore(writer_type, writers, WRITERS);
    return 0;
}
