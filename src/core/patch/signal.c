/* Signals that find a thread that is a tasklet: handlers written in Python are for main.
 *
 * The interpreter runs a handler in the main thread of the system, in whichever tasklet runs there.
 * A program with threads knows that handlers run in its main thread, and that no other gets what
 * they raise: a worker that catches all exceptions would swallow the KeyboardInterrupt that is to
 * end the program.  So where a handler finds a thread that is a tasklet, main leaves its wait and
 * runs it (sched/wake.c).  Where main is in no wait that can be begun again, the handler runs
 * where it is, and main gets the exception that it raises.
 *
 * Main must come to run for that.  Without time slices a thread that computes may never let it, and
 * main may not come as far as the last exception; then the thread gets it, as any tasklet.
 */
#include "patch/thread.h"
#include "sched/guests/preempt.h"
#include "sched/wake.h"

static PyObject *left; /* pairs of a handler and a number, for main: a list, or NULL */

/* The scheduler whose running tasklet is a thread, and whose main shall get what signals bring; or
 * NULL. */
static s_sched *scheduler_of_signal(void)
{
    s_tasklet *t = patch_thread();
    s_sched *s = t != NULL ? t->owner : NULL;
    if (s == NULL || (s->main->state == S_READY && s->main->error != NULL))
        return NULL;
    return s->trap || s_has_slices(s) ? s : NULL;
}

int patch_signal_raise(PyObject *error)
{
    s_sched *s = scheduler_of_signal();
    if (s != NULL)
        s_raise_in(s, s->main, Py_NewRef(error));
    return s != NULL;
}

static int append_left(PyObject *handler, PyObject *number)
{
    if (left == NULL && (left = PyList_New(0)) == NULL)
        return -1;
    PyObject *pair = PyTuple_Pack(2, handler, number);
    int code = pair != NULL ? PyList_Append(left, pair) : -1;
    Py_XDECREF(pair);
    return code;
}

int patch_signal_leave(PyObject *handler, PyObject *number)
{
    s_sched *s = scheduler_of_signal();
    if (s == NULL || (!s->signalled && !s_wake_for_signals(s)))
        return 0;
    if (append_left(handler, number) == 0)
        return 1;
    PyErr_Clear();
    return 0;
}

static int call_handler(PyObject *handler, PyObject *number)
{
    PyObject *frame = (PyObject *)PyEval_GetFrame();
    PyObject *done =
        PyObject_CallFunctionObjArgs(handler, number, frame != NULL ? frame : Py_None, NULL);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

/* Those behind one that raises come again as signals. */
static int handle_left(int now)
{
    PyObject *all = left;
    int code = 0;
    left = NULL;
    for (Py_ssize_t i = 0; all != NULL && i < PyList_GET_SIZE(all); i++) {
        PyObject *pair = PyList_GET_ITEM(all, i), *number = PyTuple_GET_ITEM(pair, 1);
        if (now && code == 0)
            code = call_handler(PyTuple_GET_ITEM(pair, 0), number);
        else
            PyErr_SetInterruptEx((int)PyLong_AsLong(number));
    }
    Py_XDECREF(all);
    return code;
}

void patch_signals_init(void)
{
    s_hook.handle_left_signals = handle_left;
}
