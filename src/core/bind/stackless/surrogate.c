/* Surrogates: what an object is between its creation and its state, in a pickle of Stackless
 * Python.
 *
 * Such a pickle names a function of stackless._wrap (compat/_stackless_wrap.py) in the place of a
 * type that no pickler could save: the function makes an object, and the state that follows fills
 * it, by `__setstate__()`, which the real type does not have.  So the object has a surrogate as its
 * type until then: a subtype with that method and nothing else.
 *
 * Rejected: a state that is kept until the end of the pickle, because other objects of it may look
 * at this one before.
 */
#include "bind/stackless/stackless.h"
#include "cpython/builtin_view.h"

static PyObject *fill_surrogate; /* (object, state), by the names that the real type has */

static PyObject *surrogate_set_state(PyObject *self, PyObject *state)
{
    if (fill_surrogate == NULL)
        return PyErr_Format(PyExc_RuntimeError, "stackless._wrap has not been imported");
    Py_SET_TYPE(self, Py_TYPE(self)->tp_base);
    return PyObject_CallFunctionObjArgs(fill_surrogate, self, state, NULL);
}

static PyMethodDef methods[] = {
    {"__setstate__", surrogate_set_state, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct {
    PyTypeObject *real;
    const char *name;
    PyTypeObject type;
} surrogates[] = {
    {&PyCell_Type, "stackless._wrap.cell", {PyVarObject_HEAD_INIT(NULL, 0)}},
    {&PyDictKeys_Type, "stackless._wrap.dict_keys", {PyVarObject_HEAD_INIT(NULL, 0)}},
    {&PyDictValues_Type, "stackless._wrap.dict_values", {PyVarObject_HEAD_INIT(NULL, 0)}},
    {&PyDictItems_Type, "stackless._wrap.dict_items", {PyVarObject_HEAD_INIT(NULL, 0)}},
    {&PyRange_Type, "stackless._wrap.range", {PyVarObject_HEAD_INIT(NULL, 0)}},
    {&PyModule_Type, "stackless._wrap.module", {PyVarObject_HEAD_INIT(NULL, 0)}},
    {&PyGen_Type, "stackless._wrap.generator", {PyVarObject_HEAD_INIT(NULL, 0)}},
    {&PyCoro_Type, "stackless._wrap.coroutine", {PyVarObject_HEAD_INIT(NULL, 0)}},
    {&PyAsyncGen_Type, "stackless._wrap.async_generator", {PyVarObject_HEAD_INIT(NULL, 0)}},
};

static int ready_surrogate(PyTypeObject *type, PyTypeObject *real, const char *name)
{
    if (type->tp_base != NULL)
        return 0;
    type->tp_name = name;
    type->tp_basicsize = real->tp_basicsize;
    type->tp_itemsize = real->tp_itemsize;
    type->tp_flags = Py_TPFLAGS_DEFAULT | (real->tp_flags & Py_TPFLAGS_HAVE_GC);
    type->tp_traverse = real->tp_traverse;
    type->tp_clear = real->tp_clear;
    type->tp_methods = methods;
    type->tp_base = real;
    return PyType_Ready(type);
}

/* _stackless_surrogate(object): the new object, which waits for its state from now on. */
static PyObject *stackless_surrogate(PyObject *module, PyObject *object)
{
    (void)module;
    for (size_t i = 0; i < sizeof(surrogates) / sizeof(surrogates[0]); i++) {
        PyTypeObject *real = surrogates[i].real, *type = &surrogates[i].type;
        if (!Py_IS_TYPE(object, real))
            continue;
        if (ready_surrogate(type, real, surrogates[i].name) < 0)
            return NULL;
        Py_SET_TYPE(object, type);
        return Py_NewRef(object);
    }
    return PyErr_Format(PyExc_TypeError, "there is no surrogate for %.100s",
                        Py_TYPE(object)->tp_name);
}

/* _stackless_fill_surrogate(function): what is called with an object and its state. */
static PyObject *stackless_fill_surrogate(PyObject *module, PyObject *function)
{
    (void)module;
    Py_XSETREF(fill_surrogate, Py_NewRef(function));
    Py_RETURN_NONE;
}

/* _stackless_show_dict(view, dict): the view shows that dict from now on. */
static PyObject *stackless_show_dict(PyObject *module, PyObject *args)
{
    PyObject *view, *dict;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO!:_stackless_show_dict", &view, &PyDict_Type, &dict))
        return NULL;
    if (!Py_IS_TYPE(view, &PyDictKeys_Type) && !Py_IS_TYPE(view, &PyDictValues_Type) &&
        !Py_IS_TYPE(view, &PyDictItems_Type))
        return PyErr_Format(PyExc_TypeError, "expected a view of a dict, found %.100s",
                            Py_TYPE(view)->tp_name);
    c_view_set_dict(view, dict);
    Py_RETURN_NONE;
}

PyMethodDef bind_stackless_surrogate_functions[] = {
    {"_stackless_surrogate", stackless_surrogate, METH_O, NULL},
    {"_stackless_fill_surrogate", stackless_fill_surrogate, METH_O, NULL},
    {"_stackless_show_dict", stackless_show_dict, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
