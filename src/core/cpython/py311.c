/* CPython 3.11: the two calls that 3.12 added for one exception object.
 *
 * 3.11 keeps a raised exception as type, value and traceback, and the value may not be an instance
 * yet; here it always is one, with its traceback in it.
 */
#include "cpython/cpython.h"

#if PY_VERSION_HEX < 0x030C0000

PyObject *PyErr_GetRaisedException(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (type == NULL)
        return NULL;
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL)
        PyException_SetTraceback(value, traceback);
    Py_DECREF(type);
    Py_XDECREF(traceback);
    return value;
}

void PyErr_SetRaisedException(PyObject *exception)
{
    if (exception == NULL) {
        PyErr_Clear();
        return;
    }
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(exception)), exception,
                  PyException_GetTraceback(exception));
}

#endif
