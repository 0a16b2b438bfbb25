/* Handlers in tasklets. */
#include "bind/http/http.h"
#include "bind/native/native.h"

PyObject *bind_http_spawn(PyObject *handler, PyObject *argument)
{
    PyObject *const call[] = {handler, argument};
    PyObject *t = bind_spawn(NULL, call, 2, NULL);
    if (t == NULL)
        PyErr_WriteUnraisable(handler);
    return t;
}
