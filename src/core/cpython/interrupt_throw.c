/* Interrupt requests that raise: a detached thread is called for certain when it comes back, where
 * a common request is only repeated until it meets that thread (interrupt.c, Waiting).
 *
 * Where all threads look at one flag, an asynchronous exception is the one thing that belongs to
 * one thread: it raises the flag when it takes the GIL, and at its next safepoint creates the
 * exception of the class that was left for it.  The class is ours, and to create its instance means
 * to call the request, whose exception comes instead.  So such a call must raise one, or never
 * return.  A class that the program has left there stays, and the request is only repeated.
 *
 * The mark by which all threads look for asynchronous exceptions is removed by the thread that
 * raises one.  When one is withdrawn there is no such thread, so the mark is removed with it; a
 * thread that has an exception of its own sets it again when it takes the GIL.
 */
#include "cpython/layout.h"

#ifdef C_THROWS_ASYNC

static PyObject *thrown_type; /* the class */
static c_interrupt *throwing; /* the requests that shall raise; read and written with the GIL */

/* 0 when it was not there. */
static int unlink_throwing(const c_interrupt *request)
{
    c_interrupt **at = &throwing;
    while (*at != NULL && *at != request)
        at = &(*at)->next_throwing;
    if (*at == NULL)
        return 0;
    *at = request->next_throwing;
    return 1;
}

static c_interrupt *take_throwing(const PyThreadState *ts)
{
    c_interrupt *found = throwing;
    while (found != NULL && found->ts != ts)
        found = found->next_throwing;
    if (found != NULL)
        unlink_throwing(found);
    return found;
}

static PyObject *make_thrown(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    c_interrupt *request = take_throwing(PyThreadState_Get());
    (void)type, (void)args, (void)kwargs;
    if (request != NULL && request->raise(request) < 0)
        return PyErr_GetRaisedException();
    PyErr_SetString(PyExc_SystemError, "an interrupt of loomlet has raised nothing");
    return NULL;
}

int c_interrupt_throw_prepare(void)
{
    if (thrown_type != NULL)
        return 0;
    PyObject *type = PyErr_NewException("loomlet._core._Thrown", PyExc_BaseException, NULL);
    if (type == NULL)
        return -1;
    ((PyTypeObject *)type)->tp_new = make_thrown;
    thrown_type = type;
    return 0;
}

void c_interrupt_throw(c_interrupt *request)
{
    PyThreadState *ts = request->ts;
    if (ts == NULL || ts->async_exc != NULL)
        return;
    unlink_throwing(request);
    request->next_throwing = throwing;
    throwing = request;
    ts->async_exc = Py_NewRef(thrown_type);
}

void c_interrupt_throw_cancel(c_interrupt *request)
{
    PyThreadState *ts = request->ts;
    if (!unlink_throwing(request) || ts->async_exc != thrown_type)
        return;
    Py_CLEAR(ts->async_exc);
    pending_of_interpreter()->async_exc = 0;
}

void c_interrupt_throw_forget(c_interrupt *request)
{
    if (unlink_throwing(request))
        pending_of_interpreter()->async_exc = 0;
}

#else

int c_interrupt_throw_prepare(void)
{
    return 0;
}

void c_interrupt_throw(c_interrupt *request)
{
    (void)request;
}

void c_interrupt_throw_cancel(c_interrupt *request)
{
    (void)request;
}

void c_interrupt_throw_forget(c_interrupt *request)
{
    (void)request;
}

#endif
