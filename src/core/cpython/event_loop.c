/* What a running event loop of asyncio puts into the thread state, as part of a tasklet.
 *
 * That is: which event loop runs, which of its tasks (3.14; before, asyncio keeps it in a
 * dictionary with the event loop as key), the hooks of asynchronous generators, and how many frames
 * of a coroutine's origin are kept (debug mode).  3.14 has all of it in the thread state.  Before,
 * the event loop lies in the thread's dictionary behind a cache of the _asyncio module, so it is
 * read and set by that module's own functions: nothing else keeps the cache right.  They run no
 * Python code.  Only 3.11's function allocates memory; if that fails, the event loop stays visible
 * to the tasklet that runs next.
 */
#include "cpython/layout.h"

static PyObject *module;
static PyCFunction set_loop, get_loop;

void c_event_loop_learn(PyObject *setter, PyCFunction original, PyObject *getter)
{
    set_loop = original;
    get_loop = PyCFunction_GET_FUNCTION(getter);
    Py_XSETREF(module, Py_XNewRef(PyCFunction_GET_SELF(setter)));
}

PyObject *c_event_loop_set(PyObject *loop)
{
    return set_loop(module, loop);
}

int c_event_loop_is_running(void)
{
    PyObject *loop = get_loop(module, NULL);
    if (loop == NULL)
        PyErr_Clear();
    Py_XDECREF(loop);
    return loop != NULL && loop != Py_None;
}

static void swap_references(PyObject **one, PyObject **other)
{
    PyObject *mine = *one;
    *one = *other;
    *other = mine;
}

#ifdef C_THREAD_HAS_EVENT_LOOP
static void swap_running_loop(PyThreadState *ts, c_event_loop *kept)
{
    swap_references(thread_event_loop(ts), &kept->loop);
    swap_references(thread_asyncio_task(ts), &kept->task);
}
#else
static void swap_running_loop(PyThreadState *ts, c_event_loop *kept)
{
    (void)ts;
    PyObject *mine = get_loop(module, NULL);
    PyObject *done = mine ? set_loop(module, kept->loop ? kept->loop : Py_None) : NULL;
    if (done == NULL)
        PyErr_Clear();
    else
        Py_XSETREF(kept->loop, mine != Py_None ? Py_NewRef(mine) : NULL);
    Py_XDECREF(done);
    Py_XDECREF(mine);
}
#endif

void c_event_loop_swap(PyThreadState *ts, c_event_loop *kept)
{
    int depth = ts->coroutine_origin_tracking_depth;
    ts->coroutine_origin_tracking_depth = kept->depth;
    kept->depth = depth;
    swap_references(&ts->async_gen_firstiter, &kept->hooks[0]);
    swap_references(&ts->async_gen_finalizer, &kept->hooks[1]);
    swap_running_loop(ts, kept);
}

void c_event_loop_clear(c_event_loop *kept)
{
    Py_CLEAR(kept->hooks[0]);
    Py_CLEAR(kept->hooks[1]);
    Py_CLEAR(kept->loop);
    Py_CLEAR(kept->task);
}
