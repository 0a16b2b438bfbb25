/* asyncio's running event loop becomes that of the running tasklet.
 *
 * As in bind/native/trace.c, the C function that sets it is replaced: asyncio.run(), third-party
 * runners and event loops all call it when a loop starts and stops running.  Interpreters share the
 * C function of a method definition: in one that is not ours the original is called.  The function
 * is replaced as soon as asyncio's C module is loaded, so programs need not import loomlet.aio.
 */
#include "sched/guests/event_loop.h"
#include "bind/patch/patch.h"

static PyCFunction set_running_loop_original;

static PyObject *set_running_loop(PyObject *module, PyObject *loop)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main())
        return set_running_loop_original(module, loop);
    s_sched *s = loop != Py_None ? s_self() : s_self_if_any();
    if (loop != Py_None && s == NULL)
        return NULL;
    int code = loop != Py_None ? s_event_loop_prepare(s) : S_OK;
    if (code < 0)
        return bind_fail(code, NULL);
    PyObject *done = c_event_loop_set(loop);
    if (s != NULL && s->ts == c_thread_state())
        s_event_loop_update(s);
    return done;
}

static PyObject *refuse_asyncio_function(PyObject *found)
{
    return PyErr_Format(PyExc_ImportError,
                        "expected asyncio's own functions in C, found %R; import loomlet.aio "
                        "before they are replaced",
                        found);
}

/* From now on a running event loop is that of its tasklet.  Once per process. */
static PyObject *own_event_loops(PyObject *setter, PyObject *getter)
{
    if (set_running_loop_original != NULL)
        Py_RETURN_NONE;
    if (!PyCFunction_Check(getter) || PyCFunction_GET_FLAGS(getter) != METH_NOARGS)
        return refuse_asyncio_function(getter);
    PyCFunction original = c_function_swap(setter, METH_O, set_running_loop);
    if (original == NULL)
        return refuse_asyncio_function(setter);
    set_running_loop_original = original;
    c_event_loop_learn(setter, original, getter);
    s_sched *s = c_event_loop_is_running() ? s_self() : NULL;
    if (s != NULL && s_event_loop_prepare(s) < 0)
        return bind_fail(S_E_MEMORY, NULL);
    Py_RETURN_NONE;
}

void bind_own_event_loop_in(PyObject *module)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main() ||
        !bind_is_module(module, "_asyncio"))
        return;
    PyObject *setter = PyObject_GetAttrString(module, "_set_running_loop");
    PyObject *getter = setter ? PyObject_GetAttrString(module, "_get_running_loop") : NULL;
    if (getter != NULL)
        Py_XDECREF(own_event_loops(setter, getter));
    PyErr_Clear();
    Py_XDECREF(setter);
    Py_XDECREF(getter);
}

/* _own_event_loops(set_running_loop, get_running_loop, file): has asyncio found functions in C for
 * these?  Then event loops belong to tasklets, and code of that file is not interrupted. */
static PyObject *require_own_event_loops(PyObject *module, PyObject *args)
{
    PyObject *setter, *getter, *file;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOU:_own_event_loops", &setter, &getter, &file))
        return NULL;
    c_interruptible_exclude_file(file);
    return own_event_loops(setter, getter);
}

PyMethodDef bind_event_loop_functions[] = {
    {"_own_event_loops", require_own_event_loops, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
