/* __enter__ and __exit__ of our types, so that `with lock:` can be suspended softly.
 *
 * From 3.14 on, `with` is two ordinary calls.  In 3.12 and 3.13 one instruction (BEFORE_WITH) binds
 * both methods, keeps them in C variables, drops the manager and calls __enter__: to abandon that C
 * frame we must find both objects and take over its references.  So our descriptors bind to objects
 * of our own: the call of __enter__ knows its own object, and the __exit__ that was bound just
 * before it on the same thread is remembered.  In a subclass that overrides __enter__, the call of
 * ours is an ordinary one, which is soft anyway.
 *
 * Rejected: letting the two objects leak, and binding without objects (the instruction looks the
 * methods up itself).
 */
#include <stddef.h>

#include "cpython/with_statement.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *self;
    const c_with_methods *methods;
    int is_exit;
} bound_with_method;

typedef struct {
    PyObject_HEAD
    const c_with_methods *methods;
    int is_exit;
} with_method;

static __thread bound_with_method *last_exit __attribute__((tls_model("initial-exec")));

PyObject *c_with_exit_of(PyObject *self)
{
    return last_exit != NULL && last_exit->self == self ? (PyObject *)last_exit : NULL;
}

static PyObject *bound_with_method_call(PyObject *callable, PyObject *const *args, size_t nargsf,
                                        PyObject *kwnames)
{
    bound_with_method *b = (bound_with_method *)callable;
    Py_ssize_t given = PyVectorcall_NARGS(nargsf), want = b->is_exit ? 3 : 0;
    (void)args;
    if (given != want || kwnames != NULL) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, %zd given",
                     b->is_exit ? "__exit__" : "__enter__", want, given);
        return NULL;
    }
    if (b->is_exit)
        return b->methods->exit(b->self);
    c_call_site site = {b->self, args, 0, callable, C_WITH};
    return b->methods->enter(b->self, &site);
}

static void bound_with_method_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    if (last_exit == (bound_with_method *)object)
        last_exit = NULL;
    Py_DECREF(((bound_with_method *)object)->self);
    PyObject_GC_Del(object);
}

static int bound_with_method_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((bound_with_method *)object)->self);
    return 0;
}

/* As CPython's bound methods do: getattr(self, name). */
static PyObject *bound_with_method_reduce(PyObject *object, PyObject *unused)
{
    (void)unused;
    PyObject *builtins = PyEval_GetBuiltins();
    PyObject *get = builtins ? PyMapping_GetItemString(builtins, "getattr") : NULL;
    if (get == NULL)
        return NULL;
    return Py_BuildValue("N(Os)", get, ((bound_with_method *)object)->self,
                         ((bound_with_method *)object)->is_exit ? "__exit__" : "__enter__");
}

static PyMethodDef bound_with_method_methods[] = {
    {"__reduce__", bound_with_method_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject bound_with_method_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.bound_with_method",
    .tp_basicsize = sizeof(bound_with_method),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC,
    .tp_vectorcall_offset = offsetof(bound_with_method, call),
    .tp_call = PyVectorcall_Call,
    .tp_dealloc = bound_with_method_dealloc,
    .tp_traverse = bound_with_method_traverse,
    .tp_methods = bound_with_method_methods,
};

static PyObject *with_method_get(PyObject *object, PyObject *self, PyObject *type)
{
    (void)type;
    with_method *d = (with_method *)object;
    if (self == NULL)
        return Py_NewRef(object);
    bound_with_method *b = PyObject_GC_New(bound_with_method, &bound_with_method_type);
    if (b == NULL)
        return NULL;
    b->call = bound_with_method_call;
    b->self = Py_NewRef(self);
    b->methods = d->methods;
    b->is_exit = d->is_exit;
    PyObject_GC_Track((PyObject *)b);
    if (b->is_exit)
        last_exit = b;
    return (PyObject *)b;
}

/* The unbound form, type.__enter__(object). */
static PyObject *with_method_call(PyObject *object, PyObject *args, PyObject *kwargs)
{
    PyObject *self = PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, 0) : NULL;
    PyObject *rest = self ? PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args)) : NULL;
    PyObject *method = rest ? with_method_get(object, self, NULL) : NULL;
    PyObject *result = method ? PyObject_Call(method, rest, kwargs) : NULL;
    if (self == NULL)
        PyErr_SetString(PyExc_TypeError, "this method needs an object");
    Py_XDECREF(rest);
    Py_XDECREF(method);
    return result;
}

static PyTypeObject with_method_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.with_method",
    .tp_basicsize = sizeof(with_method),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_descr_get = with_method_get,
    .tp_call = with_method_call,
};

static int install_with_method(PyTypeObject *type, const c_with_methods *methods, int is_exit)
{
    with_method *d = PyObject_New(with_method, &with_method_type);
    if (d == NULL)
        return -1;
    d->methods = methods;
    d->is_exit = is_exit;
    int code =
        PyDict_SetItemString(type->tp_dict, is_exit ? "__exit__" : "__enter__", (PyObject *)d);
    Py_DECREF((PyObject *)d);
    return code;
}

int c_with_install(PyTypeObject *type, const c_with_methods *methods)
{
    if (PyType_Ready(&bound_with_method_type) < 0 || PyType_Ready(&with_method_type) < 0 ||
        install_with_method(type, methods, 0) < 0 || install_with_method(type, methods, 1) < 0)
        return -1;
    PyType_Modified(type);
    return 0;
}
