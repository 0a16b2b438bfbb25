/* The interpreter's own type of types: what `__flags__` says of them.
 *
 * A class whose `__call__` was written in Python, or inherited from such a class, has one certain
 * function in its slot for calls; which, is learned from a class of ours.  So nothing is kept per
 * class, and a `__call__` that is set or deleted later is known too.  CPython leaves bit 15 free
 * for Stackless Python.
 */
#include "cpython/layout.h" /* before anything that takes Python.h */

#include "cpython/builtin_type.h"

#define CALLS_PYTHON (1UL << 15)

static ternaryfunc call_of_python;

static PyObject *type_flags(PyObject *type, void *unused)
{
    (void)unused;
    unsigned long flags = PyType_GetFlags((PyTypeObject *)type);
    int calls = ((PyTypeObject *)type)->tp_call == call_of_python;
    return PyLong_FromUnsignedLong(flags | (calls ? CALLS_PYTHON : 0));
}

static PyGetSetDef flags_attribute = {"__flags__", type_flags, NULL, NULL, NULL};

/* The function in the call slot of a class that defines `__call__`; NULL with an exception. */
static ternaryfunc learn_call_of_python(void)
{
    PyObject *type =
        PyObject_CallFunction((PyObject *)&PyType_Type, "s(){sO}", "Learned", "__call__", Py_None);
    ternaryfunc found = type != NULL ? ((PyTypeObject *)type)->tp_call : NULL;
    Py_XDECREF(type);
    return found;
}

int c_type_flags_replace(void)
{
    ternaryfunc learned = call_of_python != NULL ? NULL : learn_call_of_python();
    if (learned == NULL)
        return call_of_python != NULL ? 0 : -1;
    PyObject *ours = PyDescr_NewGetSet(&PyType_Type, &flags_attribute);
    PyObject *dict = ours != NULL ? type_dict(&PyType_Type) : NULL;
    int code = dict != NULL ? PyDict_SetItemString(dict, flags_attribute.name, ours) : -1;
    if (code == 0) {
        call_of_python = learned;
        PyType_Modified(&PyType_Type);
    }
    Py_XDECREF(dict);
    Py_XDECREF(ours);
    return code;
}
