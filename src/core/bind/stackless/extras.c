/* The small types of the Stackless API: atomic, cframe, cstack.
 *
 * atomic sets the tasklet's flag while its block runs; it prevents preemption only.  cframe and
 * cstack are internals of Stackless that loomlet does not have; they exist so that code that reads
 * them still works.  There is one cstack, a ring of itself that belongs to no tasklet.
 */
#include "bind/stackless/stackless.h"

/* ---- atomic ------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    int before;
} atomic;

static PyObject *set_current_atomic(s_sched *s, int flag)
{
    PyObject *number = PyBool_FromLong(flag);
    PyObject *before = bind_stackless_set_atomic((PyObject *)s->current, number);
    Py_DECREF(number);
    return before;
}

static PyObject *atomic_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    PyObject *before = s != NULL ? set_current_atomic(s, 1) : NULL;
    if (before == NULL)
        return NULL;
    ((atomic *)self)->before = before == Py_True;
    Py_DECREF(before);
    Py_RETURN_NONE;
}

static PyObject *atomic_exit(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args, (void)nargs;
    s_sched *s = s_self();
    PyObject *before = s != NULL ? set_current_atomic(s, ((atomic *)self)->before) : NULL;
    if (before == NULL)
        return NULL;
    Py_DECREF(before);
    Py_RETURN_NONE;
}

static PyMethodDef atomic_methods[] = {
    {"__enter__", atomic_enter, METH_NOARGS, NULL},
    {"__exit__", BIND_FN(atomic_exit), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject bind_atomic_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_stackless.atomic",
    .tp_doc = PyDoc_STR("atomic()\n--\n\n"
                        "`with atomic():` keeps the running tasklet from being preempted in the\n"
                        "block; what it does itself may still switch."),
    .tp_basicsize = sizeof(atomic),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_methods = atomic_methods,
};

/* ---- cframe and cstack ----------------------------------------------------------------- */

static PyObject *extras_get_none(PyObject *self, void *unused)
{
    (void)self, (void)unused;
    Py_RETURN_NONE;
}

static PyObject *extras_get_zero(PyObject *self, void *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLong(0);
}

static PyObject *extras_get_self(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

static PyGetSetDef cframe_getset[] = {
    {"f_back", extras_get_none, NULL, NULL, NULL},
    {"ob1", extras_get_none, NULL, NULL, NULL},
    {"ob2", extras_get_none, NULL, NULL, NULL},
    {"ob3", extras_get_none, NULL, NULL, NULL},
    {"i", extras_get_zero, NULL, NULL, NULL},
    {"n", extras_get_zero, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyGetSetDef cstack_getset[] = {
    {"next", extras_get_self, NULL, PyDoc_STR("Itself."), NULL},
    {"prev", extras_get_self, NULL, PyDoc_STR("Itself."), NULL},
    {"task", extras_get_none, NULL, PyDoc_STR("None."), NULL},
    {"size", extras_get_zero, NULL, NULL, NULL},
    {"startaddr", extras_get_zero, NULL, NULL, NULL},
    {"nesting_level", extras_get_zero, NULL, NULL, NULL},
    {"serial", extras_get_zero, NULL, NULL, NULL},
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
