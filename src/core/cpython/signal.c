/* Signal handlers written in Python. */
#include "cpython/cpython.h"

static PyObject *getsignal, *interrupts;
static long signals;

/* The functions of the module _signal, which is built in and runs no Python code. */
static int find_signal_module(void)
{
    PyObject *module = getsignal == NULL ? PyImport_ImportModule("_signal") : NULL;
    if (module == NULL)
        return getsignal != NULL;
    PyObject *number = PyObject_GetAttrString(module, "NSIG");
    signals = number != NULL ? PyLong_AsLong(number) : 0;
    interrupts = PyObject_GetAttrString(module, "default_int_handler");
    getsignal = interrupts != NULL ? PyObject_GetAttrString(module, "getsignal") : NULL;
    Py_XDECREF(number);
    Py_DECREF(module);
    return getsignal != NULL;
}

static int has_handler(long number)
{
    PyObject *handler = PyObject_CallFunction(getsignal, "l", number);
    int found = handler != NULL && handler != interrupts && PyCallable_Check(handler);
    if (handler == NULL)
        PyErr_Clear();
    Py_XDECREF(handler);
    return found;
}

int c_has_signal_handler(void)
{
    int found = 0;
    if (!find_signal_module()) {
        PyErr_Clear();
        return 0;
    }
    for (long number = 1; number < signals && !found; number++)
        found = has_handler(number);
    return found;
}
