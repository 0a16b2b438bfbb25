/* Unwrapping a callable into a Python function and more arguments.
 *
 * A tasklet that begins in a Python function has no C code below it, so it can be suspended without
 * a C stack.  Bound methods, functools.partial objects and objects with a __call__ written in
 * Python are C code that only calls such a function; they are unwrapped here, one inside the other,
 * before the tasklet begins.  Not unwrapped are subclasses of partial, a partial with placeholders
 * (3.14), and classes, whose C code has work to do afterwards.
 */
#include "cpython/cpython.h"

#define MAX_DEPTH 64

static PyObject *partial_type, *placeholder;

/* Puts `count` items in front of the positional arguments. */
static int prepend_arguments(c_call *call, PyObject *const *items, Py_ssize_t count)
{
    Py_ssize_t had = PyTuple_GET_SIZE(call->args);
    PyObject *args = PyTuple_New(count + had);
    if (args == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++)
        PyTuple_SET_ITEM(args, i, Py_NewRef(items[i]));
    for (Py_ssize_t i = 0; i < had; i++)
        PyTuple_SET_ITEM(args, count + i, Py_NewRef(PyTuple_GET_ITEM(call->args, i)));
    Py_SETREF(call->args, args);
    return 0;
}

int c_add_keywords(PyObject *dict, PyObject *kwnames, PyObject *const *values)
{
    Py_ssize_t names = kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; i < names; i++)
        if (PyDict_SetItem(dict, PyTuple_GET_ITEM(kwnames, i), values[i]) < 0)
            return -1;
    return 0;
}

/* The keywords of a partial, overridden by those of the call. */
static PyObject *merge_keywords(const c_call *call, PyObject *keywords)
{
    PyObject *found = PyDict_Copy(keywords);
    Py_ssize_t names = call->kwnames ? PyTuple_GET_SIZE(call->kwnames) : 0;
    PyObject *const *values = &PyTuple_GET_ITEM(call->args, PyTuple_GET_SIZE(call->args) - names);
    if (found != NULL && c_add_keywords(found, call->kwnames, values) < 0)
        Py_CLEAR(found);
    return found;
}

/* Replaces all keywords of the call by those of the dict. */
static int set_keywords(c_call *call, PyObject *dict)
{
    Py_ssize_t names = call->kwnames ? PyTuple_GET_SIZE(call->kwnames) : 0, at = 0, n = 0;
    Py_ssize_t positional = PyTuple_GET_SIZE(call->args) - names;
    PyObject *name, *value, *kwnames = PyTuple_New(PyDict_GET_SIZE(dict));
    PyObject *args = PyTuple_New(positional + PyDict_GET_SIZE(dict));
    if (kwnames == NULL || args == NULL) {
        Py_XDECREF(kwnames);
        Py_XDECREF(args);
        return -1;
    }
    for (Py_ssize_t i = 0; i < positional; i++)
        PyTuple_SET_ITEM(args, i, Py_NewRef(PyTuple_GET_ITEM(call->args, i)));
    for (; PyDict_Next(dict, &at, &name, &value); n++) {
        PyTuple_SET_ITEM(kwnames, n, Py_NewRef(name));
        PyTuple_SET_ITEM(args, positional + n, Py_NewRef(value));
    }
    Py_SETREF(call->args, args);
    Py_XSETREF(call->kwnames, kwnames);
    return 0;
}

static int add_keywords(c_call *call, PyObject *keywords)
{
    if (PyDict_GET_SIZE(keywords) == 0)
        return 0;
    PyObject *all = merge_keywords(call, keywords);
    int code = all != NULL ? set_keywords(call, all) : -1;
    Py_XDECREF(all);
    return code;
}

/* ---- one step: 1 unwrapped, 0 nothing to unwrap, -1 with an exception set -------------- */

static int unwrap_bound(c_call *call, PyObject *function, PyObject *self)
{
    if (prepend_arguments(call, &self, 1) < 0)
        return -1;
    Py_SETREF(call->func, Py_NewRef(function));
    return 1;
}

static int has_placeholder(PyObject *args)
{
    for (Py_ssize_t i = 0; placeholder != NULL && i < PyTuple_GET_SIZE(args); i++)
        if (PyTuple_GET_ITEM(args, i) == placeholder)
            return 1;
    return 0;
}

static int unwrap_partial(c_call *call)
{
    static PyObject *names[3];
    PyObject *func = c_get_attribute(call->func, &names[0], "func");
    PyObject *args = c_get_attribute(call->func, &names[1], "args");
    PyObject *keywords = c_get_attribute(call->func, &names[2], "keywords");
    int code = func != NULL && args != NULL && keywords != NULL ? 0 : -1;
    if (code == 0 && PyTuple_CheckExact(args) && PyDict_CheckExact(keywords) &&
        !has_placeholder(args)) {
        code = add_keywords(call, keywords);
        if (code == 0)
            code =
                prepend_arguments(call, ((PyTupleObject *)args)->ob_item, PyTuple_GET_SIZE(args));
        if (code == 0) {
            Py_SETREF(call->func, Py_NewRef(func));
            code = 1;
        }
    }
    Py_XDECREF(func);
    Py_XDECREF(args);
    Py_XDECREF(keywords);
    return code;
}

/* Unwraps an object if the __call__ of its type is a Python function. */
static int unwrap_instance(c_call *call)
{
    static PyObject *kept;
    PyObject *name = c_interned_name(&kept, "__call__");
    if (name == NULL)
        return -1;
    PyObject *found = _PyType_Lookup(Py_TYPE(call->func), name);
    return found != NULL && PyFunction_Check(found) ? unwrap_bound(call, found, call->func) : 0;
}

/* functools can be imported without effect when one of its objects exists. */
static int is_partial(PyObject *object)
{
    if (partial_type == NULL && strcmp(Py_TYPE(object)->tp_name, "functools.partial") == 0) {
        PyObject *module = PyImport_ImportModule("functools");
        partial_type = module ? PyObject_GetAttrString(module, "partial") : NULL;
        placeholder = partial_type ? PyObject_GetAttrString(module, "Placeholder") : NULL;
        Py_XDECREF(module);
        PyErr_Clear();
    }
    return (PyObject *)Py_TYPE(object) == partial_type;
}

int c_unwrap_slow(c_call *call)
{
    for (int i = 0; i < MAX_DEPTH && !PyFunction_Check(call->func); i++) {
        int code;
        if (PyMethod_Check(call->func))
            code = unwrap_bound(call, PyMethod_GET_FUNCTION(call->func),
                                PyMethod_GET_SELF(call->func));
        else
            code = is_partial(call->func) ? unwrap_partial(call) : unwrap_instance(call);
        if (code <= 0)
            return code;
    }
    return 0;
}
