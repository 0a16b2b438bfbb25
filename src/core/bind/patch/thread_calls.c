/* Calls of the system that take the ident of a thread: signal.pthread_kill() and
 * time.pthread_getcpuclockid().
 *
 * A thread that is a tasklet has no thread of the system to itself.  So a signal for it goes to the
 * thread of its scheduler, where the interpreter calls the handler for main, as for any thread; and
 * its clock is that of the thread that runs it, as time.thread_time() is.  An ident that is
 * nobody's any more is no thread for both, which is said by the error that the system has for it.
 *
 * Other calls of the system, by ctypes perhaps, find a thread there that has ended
 * (plat/ident_mmap.c).
 */
#include <errno.h>

#include "bind/patch/patch.h"
#include "cpython/replace.h"
#include "patch/thread.h"
#include "plat/plat.h"

static PyCFunction kill_original, clock_original;

/* Whether an object is an ident that we have given to a thread. */
static int is_tasklet_ident(PyObject *object, unsigned long *ident)
{
    if (!PyLong_Check(object))
        return 0;
    *ident = PyLong_AsUnsignedLong(object);
    PyErr_Clear();
    return p_ident_is_ours(*ident);
}

/* The thread of the system where that tasklet is: its ident, new; or NULL with an exception. */
static PyObject *system_thread_of(unsigned long ident)
{
    s_tasklet *t = patch_thread_find(ident);
    const s_sched *s = t != NULL ? t->owner : NULL;
    unsigned long thread = 0;
    if (t != NULL && t == patch_thread())
        thread = PyThread_get_thread_ident();
    else if (s != NULL && !s->ending)
        thread = s->thread_id;
    Py_XDECREF((PyObject *)t);
    if (thread != 0)
        return PyLong_FromUnsignedLong(thread);
    errno = ESRCH;
    return PyErr_SetFromErrno(PyExc_OSError);
}

/* pthread_kill(ident, signal) */
static PyObject *thread_kill(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    patch_fast_call original = (patch_fast_call)(void (*)(void))kill_original;
    unsigned long ident;
    if (nargs != 2 || !is_tasklet_ident(args[0], &ident))
        return original(module, args, nargs);
    PyObject *thread = system_thread_of(ident);
    PyObject *both[] = {thread, args[1]};
    PyObject *done = thread != NULL ? original(module, both, 2) : NULL;
    Py_XDECREF(thread);
    return done;
}

/* pthread_getcpuclockid(ident) */
static PyObject *thread_clock(PyObject *module, PyObject *args)
{
    unsigned long ident;
    if (PyTuple_GET_SIZE(args) != 1 || !is_tasklet_ident(PyTuple_GET_ITEM(args, 0), &ident))
        return clock_original(module, args);
    PyObject *thread = system_thread_of(ident);
    PyObject *one = thread != NULL ? PyTuple_Pack(1, thread) : NULL;
    PyObject *clock = one != NULL ? clock_original(module, one) : NULL;
    Py_XDECREF(one);
    Py_XDECREF(thread);
    return clock;
}

/* For good: threads that are tasklets may exist after uninstall(). */
static void replace_call(const char *module_name, const char *name, int flags,
                         PyCFunction replacement, PyCFunction *kept)
{
    PyObject *module = *kept == NULL ? PyImport_ImportModule(module_name) : NULL;
    PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
    PyErr_Clear();
    if (function != NULL && PyCFunction_Check(function)) {
        *kept = PyCFunction_GET_FUNCTION(function);
        if (c_function_swap(function, flags, replacement) == NULL)
            *kept = NULL;
    }
    Py_XDECREF(function);
    Py_XDECREF(module);
}

void bind_patch_thread_calls(void)
{
    replace_call("_signal", "pthread_kill", METH_FASTCALL, BIND_FN(thread_kill), &kill_original);
    replace_call("time", "pthread_getcpuclockid", METH_VARARGS, thread_clock, &clock_original);
}
