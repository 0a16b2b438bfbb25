/* Exceptions that are kept alive: letting go of those that tasklets have delivered, for
 * loomlet._runtime; see sched/failure.c. */
#include <limits.h>

#include "bind/debug/debug_socket.h"
#include "sched/failure.h"

/* _let_go_of_failures(): looks at all of them. */
static PyObject *let_go_of_all(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_failures_let_go(INT_MAX);
    Py_RETURN_NONE;
}

static int is_full_collection(PyObject *info)
{
    PyObject *generation = PyDict_Check(info) ? PyDict_GetItemString(info, "generation") : NULL;
    return generation != NULL && PyLong_Check(generation) && PyLong_AsLong(generation) == 2;
}

/* _after_collection(phase, info): for gc.callbacks; looks at all of them when it was a full one. */
static PyObject *let_go_after_collection(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "_after_collection() takes 2 arguments, found %zd",
                            count);
    if (s_settled_count > 0)
        s_failures_let_go(is_full_collection(args[1]) ? INT_MAX : S_SETTLED_AT_ONCE);
    Py_RETURN_NONE;
}

PyMethodDef bind_exception_functions[] = {
    {"_let_go_of_failures", let_go_of_all, METH_NOARGS, NULL},
    {"_after_collection", (PyCFunction)(void (*)(void))let_go_after_collection, METH_FASTCALL,
     NULL},
    {NULL, NULL, 0, NULL},
};
