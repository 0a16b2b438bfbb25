/* What loomlet calls for its debug socket, through which other processes see the tasklets. */
#include "bind/debug/debug_socket.h"

#include "debug/debug.h"

/* _debug_socket_open(path): starts a thread that answers at that path. */
static PyObject *debug_socket_open(PyObject *module, PyObject *path)
{
    (void)module;
    const char *name = PyUnicode_AsUTF8(path);
    if (name == NULL)
        return NULL;
    int code = d_socket_open(name);
    return code < 0 ? bind_fail(code, path) : Py_NewRef(Py_None);
}

/* _debug_socket_close(): returns whether there was one. */
static PyObject *debug_socket_close(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(d_socket_close());
}

/* _debug_socket_after_fork(): called in the child; returns whether the parent had one. */
static PyObject *debug_socket_after_fork(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(d_socket_after_fork());
}

/* _dump_at_signal((program, argument, ...)): see p_command_at_signal; returns whether the signal
 * is ours now. */
static PyObject *dump_at_signal(PyObject *module, PyObject *words)
{
    const char *texts[P_WORDS + 1] = {NULL};
    (void)module;
    Py_ssize_t count = PyTuple_Check(words) ? PyTuple_GET_SIZE(words) : P_WORDS + 1;
    if (count > P_WORDS) {
        PyErr_SetString(PyExc_TypeError, "expected a tuple of a few words");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if ((texts[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(words, i))) == NULL)
            return NULL;
    }
    int taken = p_command_at_signal(texts);
    return taken < 0 ? PyErr_NoMemory() : PyBool_FromLong(taken);
}

PyMethodDef bind_debug_socket_functions[] = {
    {"_debug_socket_open", debug_socket_open, METH_O, NULL},
    {"_debug_socket_close", debug_socket_close, METH_NOARGS, NULL},
    {"_debug_socket_after_fork", debug_socket_after_fork, METH_NOARGS, NULL},
    {"_dump_at_signal", dump_at_signal, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
