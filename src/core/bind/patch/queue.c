/* queue.SimpleQueue: the arguments of get(), and installing.  What it does is in patch/queue.c. */
#include "bind/patch/patch.h"

static PyTypeObject *queue_type;

/* Whether get() is asked to wait, and how long: 1; 0 when the original shall do it. */
static int read_wait(const c_method_call *call, int64_t *timeout)
{
    static const char *const names[] = {"block", "timeout", NULL};
    PyObject *values[2] = {Py_True, NULL};
    int known = bind_parse_arguments("get", names, 0, call->args, call->nargs, call->kwnames,
                                     values) == 0 &&
                PyObject_IsTrue(values[0]) == 1 && bind_patch_timeout(values[1], 1e9, timeout) == 0;
    PyErr_Clear();
    return known && *timeout != 0;
}

static PyObject *queue_get(PyObject *self, PyTypeObject *cls, PyObject *const *args,
                           Py_ssize_t nargs, PyObject *kwnames)
{
    int64_t timeout;
    c_method_call call = {self, cls, args, nargs, kwnames};
    s_sched *s = patch_scheduler();
    if (s == NULL || !read_wait(&call, &timeout))
        return c_call_original(&patch_queue_originals.get, &call);
    return patch_queue_get(s, &call, timeout);
}

static PyObject *queue_put(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    return patch_queue_put(patch_queue_originals.put, self, args, nargs, kwnames);
}

static PyObject *queue_put_nowait(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *kwnames)
{
    return patch_queue_put(patch_queue_originals.put_nowait, self, args, nargs, kwnames);
}

#define NAMED (METH_FASTCALL | METH_KEYWORDS)

static const c_method_replacement methods[] = {
    {"get", C_OF_CLASS, BIND_FN(queue_get), &patch_queue_originals.get.of_class},
    {"get_nowait", C_OF_CLASS, NULL, &patch_queue_originals.get_nowait.of_class},
    {"put", NAMED, BIND_FN(queue_put), &patch_queue_originals.put},
    {"put_nowait", NAMED, BIND_FN(queue_put_nowait), &patch_queue_originals.put_nowait},
};

#define COUNT (sizeof(methods) / sizeof(*methods))

static int replace_queue(PyObject *module)
{
    PyObject *type = PyObject_GetAttrString(module, "SimpleQueue");
    PyObject *empty = type ? PyObject_GetAttrString(module, "Empty") : NULL;
    Py_XSETREF(queue_type, (PyTypeObject *)type);
    Py_XSETREF(patch_queue_originals.empty, empty);
    return empty ? c_methods_replace(queue_type, methods, COUNT) : -1;
}

int bind_patch_queues(int install)
{
    if (!install) {
        if (patch_queue_originals.put != NULL)
            c_methods_restore(queue_type, methods, 1);
        return 0;
    }
    PyObject *module = PyImport_ImportModule("_queue");
    int code = module ? replace_queue(module) : -1;
    Py_XDECREF(module);
    return code;
}
