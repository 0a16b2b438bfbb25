/* The variables of frames whose calls have not ended, for who looks for the holder of an object.
 *
 * The collector takes running frames for roots, so they show it nothing; and `frame.f_locals` makes
 * a dict that stays, before 3.13.  Here they are read where they are, which the frame's own thread
 * must not change meanwhile: with a GIL, or while the world is stopped.  The value stack of a
 * running frame is not read: how deep it is only the eval loop knows.
 */
#include "cpython/layout.h"

#include "cpython/running_frame.h"

#include <frameobject.h>

static int count_variables(const c_frame *f)
{
    return frame_code(f)->co_nlocalsplus;
}

int c_frame_visit_variables(PyObject *frame, visitproc visit, void *arg)
{
    const c_frame *f = ((PyFrameObject *)frame)->f_frame;
    int count = count_variables(f), stop = 0;
    for (int i = 0; i < count && !stop; i++) {
        PyObject *value = slot_object(f->localsplus[i]);
        if (value != NULL)
            stop = visit(value, arg);
    }
    if (!stop && f->f_locals != NULL && f->f_locals != f->f_globals)
        stop = visit(f->f_locals, arg);
    return stop;
}

int c_frame_variable_of(PyObject *frame, PyObject *value)
{
    const c_frame *f = ((PyFrameObject *)frame)->f_frame;
    int count = count_variables(f);
    for (int i = 0; i < count; i++) {
        if (slot_object(f->localsplus[i]) == value)
            return i;
    }
    return -1;
}

int c_threads_visit(visitproc visit, void *arg)
{
    PyThreadState *ts = PyInterpreterState_ThreadHead(PyThreadState_GET()->interp);
    for (; ts != NULL; ts = PyThreadState_Next(ts)) {
        Py_VISIT(ts->dict);
        Py_VISIT(ts->context);
    }
    return 0;
}
