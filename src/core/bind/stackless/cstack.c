/* _stackless.cframe and _stackless.cstack: internals of Stackless that loomlet does not have.
 *
 * They exist so that code that reads them still works.  There is one cstack, a ring of itself that
 * belongs to no tasklet.
 */
#include "bind/stackless/stackless.h"

static PyObject *cstack_get_none(PyObject *self, void *unused)
{
    (void)self, (void)unused;
    Py_RETURN_NONE;
}

static PyObject *cstack_get_zero(PyObject *self, void *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLong(0);
}

static PyObject *cstack_get_self(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

static PyGetSetDef cframe_getset[] = {
    {"f_back", cstack_get_none, NULL, NULL, NULL},
    {"ob1", cstack_get_none, NULL, NULL, NULL},
    {"ob2", cstack_get_none, NULL, NULL, NULL},
    {"ob3", cstack_get_none, NULL, NULL, NULL},
    {"i", cstack_get_zero, NULL, NULL, NULL},
    {"n", cstack_get_zero, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyGetSetDef cstack_getset[] = {
    {"next", cstack_get_self, NULL, PyDoc_STR("Itself."), NULL},
    {"prev", cstack_get_self, NULL, PyDoc_STR("Itself."), NULL},
    {"task", cstack_get_none, NULL, PyDoc_STR("None."), NULL},
    {"size", cstack_get_zero, NULL, NULL, NULL},
    {"startaddr", cstack_get_zero, NULL, NULL, NULL},
    {"nesting_level", cstack_get_zero, NULL, NULL, NULL},
    {"serial", cstack_get_zero, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject bind_cframe_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_stackless.cframe",
    .tp_doc = PyDoc_STR("A frame of C code in Stackless; loomlet has none."),
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_getset = cframe_getset,
};

PyTypeObject bind_cstack_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_stackless.cstack",
    .tp_doc = PyDoc_STR("A saved C stack in Stackless; here one dummy stands for all."),
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_getset = cstack_getset,
};

PyObject *bind_cstack_for(s_tasklet *t)
{
    static PyObject *only;
    (void)t;
    if (only == NULL)
        only = PyType_GenericAlloc(&bind_cstack_type, 0);
    return Py_XNewRef(only);
}
