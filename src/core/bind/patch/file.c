/* os.read, readv, write, writev, sendfile, close, and the methods of FileIO: their arguments, and
 * installing.
 *
 * What they do is in patch/file.c.  A call that cannot wait, or is not understood, goes to the
 * original.
 */
#include "patch/file.h"

#include "bind/patch/patch.h"

#define ORIGINAL(name) (patch_file_originals.name)

static c_replaced_function read_original, readv_original, write_original, writev_original;
static c_replaced_function close_original, sendfile_original;

/* ---- os.read, os.readv, os.write, os.writev, os.close ---------------------------------------- */

/* A descriptor's number, or -1: the original complains. */
static int read_descriptor(PyObject *value)
{
    long number = PyLong_Check(value) ? PyLong_AsLong(value) : -1;
    PyErr_Clear();
    return number >= 0 && number <= INT32_MAX ? (int)number : -1;
}

/* Whether a number, or the size of a buffer or of a sequence of buffers, is above 0. */
static int asks_for_some(PyObject *value)
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
    patch_file f = {.s = nargs == 2 ? patch_scheduler() : NULL};
    f.fd = f.s ? read_descriptor(args[0]) : -1;
    if (f.fd >= 0 && asks_for_some(args[1]) && patch_file_wait(&f, P_READ) < 0)
        return NULL;
    return PyObject_Vectorcall(kept->original, args, (size_t)nargs, NULL);
}

static PyObject *os_read(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    return read_when_ready(&read_original, args, nargs);
}

static PyObject *os_readv(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    return read_when_ready(&readv_original, args, nargs);
}

static PyObject *write_when_ready(const c_replaced_function *kept, PyObject *const *args,
                                  Py_ssize_t nargs)
{
    patch_file f = {.s = nargs == 2 ? patch_scheduler() : NULL};
    f.fd = f.s ? read_descriptor(args[0]) : -1;
    Py_ssize_t written = PATCH_BY_ORIGINAL;
    if (f.fd >= 0 && p_may_block(f.fd)) {
        int many = kept == &writev_original;
        PyObject *data = many ? patch_join_buffers(args[1]) : Py_NewRef(args[1]);
        if (data != NULL)
            written = patch_file_write(&f, data, 0);
        Py_XDECREF(data);
    }
    if (written == PATCH_BY_ORIGINAL)
        return PyObject_Vectorcall(kept->original, args, (size_t)nargs, NULL);
    return written < 0 ? NULL : PyLong_FromSsize_t(written);
}

static PyObject *os_write(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    return write_when_ready(&write_original, args, nargs);
}

static PyObject *os_writev(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    return write_when_ready(&writev_original, args, nargs);
}

static PyObject *os_close(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
    int fd = bind_argument_count(nargs, kwnames) == 1 ? read_descriptor(args[0]) : -1;
    (void)module;
    return patch_descriptor_close(fd, close_original.original, args, nargs, kwnames);
}

/* offset=None: the position of the file. */
static int read_offset(PyObject *value, int64_t *offset)
{
    *offset = -1;
    if (value == Py_None)
        return 0;
    *offset = PyLong_Check(value) ? PyLong_AsLongLong(value) : -1;
    PyErr_Clear();
    return *offset >= 0 ? 0 : -1;
}

/* sendfile(out_fd, in_fd, offset, count) */
static PyObject *os_sendfile(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    static const char *const names[] = {"out_fd", "in_fd", "offset", "count", NULL};
    PyObject *values[4] = {NULL, NULL, NULL, NULL};
    patch_file_copy copy;
    s_sched *s = patch_scheduler();
    Py_ssize_t sent = PATCH_BY_ORIGINAL;
    (void)module;
    if (s != NULL &&
        bind_parse_arguments("sendfile", names, 4, args, nargs, kwnames, values) == 0 &&
        (copy.to = read_descriptor(values[0])) >= 0 &&
        (copy.from = read_descriptor(values[1])) >= 0 &&
        read_offset(values[2], &copy.offset) == 0 && asks_for_some(values[3]) &&
        PyLong_Check(values[3]) && p_may_block(copy.to)) {
        copy.size = PyLong_AsSsize_t(values[3]);
        sent = patch_file_send(s, &copy);
    }
    if (sent == PATCH_BY_ORIGINAL) {
        PyErr_Clear();
        return PyObject_Vectorcall(sendfile_original.original, args, (size_t)nargs, kwnames);
    }
    return sent < 0 ? NULL : PyLong_FromSsize_t(sent);
}

/* ---- FileIO: as functions of a call, whatever its form -------------------------------------- */

/* Waits until there is something to be read, if that is asked for: 0, or -1 with an exception. */
static int wait_to_read(PyObject *file, PyObject *amount)
{
    return asks_for_some(amount) ? patch_file_wait_readable(file) : 0;
}

static int is_negative_size(PyObject *size)
{
    Py_ssize_t number = PyLong_Check(size) ? PyLong_AsSsize_t(size) : 0;
    int known = !PyErr_Occurred();
    PyErr_Clear();
    return known && number < 0;
}

static PyObject *file_read(const c_method_call *call)
{
    patch_file f;
    PyObject *size = call->nargs > 0 ? call->args[0] : Py_None;
    if (call->nargs > 1 || call->kwnames != NULL)
        return c_call_original(&ORIGINAL(read), call);
    int all = size == Py_None || is_negative_size(size);
    if (all && patch_file_begin(&f, call->self, "readable"))
        return patch_file_read_all(call->self);
    if (!all && wait_to_read(call->self, size) < 0)
        return NULL;
    return c_call_original(&ORIGINAL(read), call);
}

static PyObject *file_readinto(const c_method_call *call)
{
    int known = call->nargs == 1 && call->kwnames == NULL && PyObject_CheckBuffer(call->args[0]);
    if (known && wait_to_read(call->self, call->args[0]) < 0)
        return NULL;
    return c_call_original(&ORIGINAL(readinto), call);
}

/* A view without an owner is of the memory of a buffer of the io module. */
static int is_of_buffer(PyObject *data)
{
    return PyMemoryView_Check(data) && PyMemoryView_GET_BUFFER(data)->obj == NULL;
}

static PyObject *file_write(const c_method_call *call)
{
    patch_file f;
    Py_ssize_t written = PATCH_BY_ORIGINAL;
    if (call->nargs == 1 && call->kwnames == NULL && patch_file_begin(&f, call->self, "writable"))
        written = patch_file_write(&f, call->args[0], is_of_buffer(call->args[0]));
    if (written == PATCH_BY_ORIGINAL)
        return c_call_original(&ORIGINAL(write), call);
    return written < 0 ? NULL : PyLong_FromSsize_t(written);
}

static PyObject *file_close(const c_method_call *call)
{
    return patch_file_close(call);
}

static PyObject *file_readall(PyObject *self, PyObject *unused)
{
    patch_file f;
    if (patch_file_begin(&f, self, "readable"))
        return patch_file_read_all(self);
    return ORIGINAL(readall)(self, unused);
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
    {#name, flags, BIND_FN(name##_plain), &ORIGINAL(name).plain},                                  \
    {                                                                                              \
        #name, C_OF_CLASS, BIND_FN(name##_of_class), &ORIGINAL(name).of_class                      \
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
    {"readall", METH_NOARGS, file_readall, &ORIGINAL(readall)},
};

static const c_function_replacement functions[] = {
    {"read", METH_FASTCALL, BIND_FN(os_read), &read_original},
    {"readv", METH_FASTCALL, BIND_FN(os_readv), &readv_original},
    {"write", METH_FASTCALL, BIND_FN(os_write), &write_original},
    {"writev", METH_FASTCALL, BIND_FN(os_writev), &writev_original},
    {"close", METH_FASTCALL | METH_KEYWORDS, BIND_FN(os_close), &close_original},
    {"sendfile", METH_FASTCALL | METH_KEYWORDS, BIND_FN(os_sendfile), &sendfile_original},
};

#define METHODS (sizeof(methods) / sizeof(*methods))
#define FUNCTIONS (sizeof(functions) / sizeof(*functions))

static int replace_file_methods(void)
{
    PyObject *module = PyImport_ImportModule("_io");
    PyObject *type = module ? PyObject_GetAttrString(module, "FileIO") : NULL;
    Py_XDECREF(module);
    if (type == NULL)
        return -1;
    Py_XSETREF(ORIGINAL(type), (PyTypeObject *)type);
    return c_methods_replace((PyTypeObject *)type, methods, METHODS);
}

int bind_patch_files(int install)
{
    if (install)
        return replace_file_methods() < 0 ? -1 : c_functions_replace("os", functions, FUNCTIONS);
    c_functions_restore(functions, FUNCTIONS);
    if (ORIGINAL(readall) != NULL)
        c_methods_restore(ORIGINAL(type), methods, METHODS);
    return 0;
}
