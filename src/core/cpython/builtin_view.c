/* The interpreter's own views of dicts: which dict they show. */
#include "cpython/builtin_view.h"

#include "cpython/layout.h"

#include <internal/pycore_dict.h>

void c_view_set_dict(PyObject *view, PyObject *dict)
{
    Py_XSETREF(((_PyDictViewObject *)view)->dv_dict, (PyDictObject *)Py_NewRef(dict));
}
