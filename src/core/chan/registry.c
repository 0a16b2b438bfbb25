/* Named channels: one of each name in the process, from its first use until it is closed.
 *
 * The registry is a dict, which is atomic by itself; two threads that ask for a new name at the
 * same time get the same channel.
 */
#include "chan/chan.h"

static PyObject *registry;

n_channel *n_channel_new(PyTypeObject *type, Py_ssize_t capacity, PyObject *name)
{
    n_channel *ch = (n_channel *)type->tp_alloc(type, 0);
    if (ch != NULL) {
        n_channel_init(ch, capacity);
        ch->name = Py_XNewRef(name);
    }
    return ch;
}

n_channel *n_channel_named(PyTypeObject *type, Py_ssize_t capacity, PyObject *name)
{
    if (registry == NULL && (registry = PyDict_New()) == NULL)
        return NULL;
    PyObject *found = PyDict_GetItemWithError(registry, name);
    if (found != NULL || PyErr_Occurred())
        return (n_channel *)Py_XNewRef(found);
    PyObject *made = (PyObject *)n_channel_new(type, capacity, name);
    found = made != NULL ? Py_XNewRef(PyDict_SetDefault(registry, name, made)) : NULL;
    Py_XDECREF(made);
    return (n_channel *)found;
}

int n_channel_forget(n_channel *ch)
{
    if (ch->name == NULL || registry == NULL)
        return 0;
    if (PyDict_GetItemWithError(registry, ch->name) == (PyObject *)ch)
        return PyDict_DelItem(registry, ch->name);
    return PyErr_Occurred() ? -1 : 0;
}
