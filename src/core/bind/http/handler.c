/* Handlers in tasklets.
 *
 * A handler that gets lists takes what comes until it has begun.  Its tasklet may end before that,
 * without memory for its first frame: what is in the list then waits for the next thing that comes,
 * which begins another tasklet.
 */
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

static int has_tasklet(const bind_http_waiting *waiting)
{
    return waiting->task != NULL && ((s_tasklet *)waiting->task)->state != S_DONE;
}

int bind_http_add_waiting(bind_http_waiting *waiting, PyObject *handler, PyObject *what)
{
    if (waiting->list == NULL && (waiting->list = PyList_New(0)) == NULL)
        return -1;
    if (!has_tasklet(waiting)) {
        PyObject *t = bind_http_spawn(handler, waiting->list);
        if (t == NULL)
            return -1;
        Py_XSETREF(waiting->task, t);
    }
    return PyList_Append(waiting->list, what);
}

void bind_http_drop_waiting(bind_http_waiting *waiting)
{
    Py_CLEAR(waiting->list);
    Py_CLEAR(waiting->task);
}
