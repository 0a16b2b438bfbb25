/* _stackless.atomic: `with atomic():` sets the flag of the tasklet while its block runs.
 *
 * It prevents preemption only; what the block does itself may still switch.
 */
#include "bind/stackless/stackless.h"

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
