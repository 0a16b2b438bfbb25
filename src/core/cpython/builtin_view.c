/* The interpreter's own views of dicts: which dict they show. */
#include "cpython/layout.h" /* before anything that takes Python.h */

#include <internal/pycore_dict.h>

#include "cpython/builtin_view.h"

void c_view_set_dict(PyObject *view, PyObject *dict)
{
    Py_XSETREF(((_PyDictViewObject *)view)->dv_dict, (PyDictObject *)Py_NewRef(dict));
}
