/* The methods of TLS connections: installing.  What they do is in patch/ssl.c. */
#include "bind/patch/patch.h"
#include "patch/socket.h"

static struct {
    PyCFunction read, write, do_handshake, shutdown;
} originals;

static PyObject *ssl_read(PyObject *self, PyObject *args)
{
    return patch_ssl_call(self, originals.read, args);
}

static PyObject *ssl_write(PyObject *self, PyObject *data)
{
    return patch_ssl_call(self, originals.write, data);
}

static PyObject *ssl_do_handshake(PyObject *self, PyObject *unused)
{
    return patch_ssl_call(self, originals.do_handshake, unused);
}

static PyObject *ssl_shutdown(PyObject *self, PyObject *unused)
{
    return patch_ssl_call(self, originals.shutdown, unused);
}

static const c_method_replacement methods[] = {
    {"read", METH_VARARGS, ssl_read, &originals.read},
    {"write", METH_O, ssl_write, &originals.write},
    {"do_handshake", METH_NOARGS, ssl_do_handshake, &originals.do_handshake},
    {"shutdown", METH_NOARGS, ssl_shutdown, &originals.shutdown},
};

#define COUNT (sizeof(methods) / sizeof(*methods))

/* An interpreter without ssl has nothing to patch. */
static PyObject *import_ssl(void)
{
    PyObject *module = PyImport_ImportModule("_ssl");
    if (module == NULL && PyErr_ExceptionMatches(PyExc_ImportError))
        PyErr_Clear();
    return module;
}

int bind_patch_ssl(int install)
{
    if (!install) {
        if (originals.read != NULL)
            c_methods_restore(patch_ssl_type, methods, COUNT);
        return 0;
    }
    PyObject *module = import_ssl();
    if (module == NULL)
        return PyErr_Occurred() ? -1 : 0;
    int code = patch_ssl_find(module) < 0 ? -1 : c_methods_replace(patch_ssl_type, methods, COUNT);
    Py_DECREF(module);
    return code;
}
