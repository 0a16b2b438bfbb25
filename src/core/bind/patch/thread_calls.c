/* Calls of the system that take the ident of a thread: signal.pthread_kill() and
 * time.pthread_getcpuclockid().
 *
 * A thread that is a tasklet has a thread of the system to itself only while it sits in C, and its
 * scheduler goes on elsewhere (sched/sitter.c); then that one is meant.  Else a signal for it is
 * sent to the process: the interpreter calls handlers for main in any case, and who waits for the
 * signal, or begins to, takes it, in whichever thread of the system it does so.  Its clock is that
 * of the scheduler's thread, as time.thread_time() is.  An ident that is nobody's any more is no
 * thread for both, which is said by the error that the system has for it.
 *
 * Other calls of the system, by ctypes perhaps, find a thread there that has ended
 * (plat/ident_mmap.c).
 */
#include <errno.h>

#include "bind/patch/patch.h"
#include "cpython/replace.h"
#include "patch/thread.h"
#include "plat/plat.h"
#include "sched/carrier.h"

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

/* Where a tasklet sits in C, which it has left to itself: that thread, or 0. */
static unsigned long thread_of_sitter(s_tasklet *t)
{
    for (s_carrier_thread *c = s_first_carrier(); c != NULL; c = c->next) {
        if (c->ts == NULL || c->all->s != t->owner)
            continue;
        s_tasklet *sitter = s_sitter_on(c);
        Py_XDECREF((PyObject *)sitter);
        if (sitter == t)
            return c_thread_ident(c->ts);
    }
    return 0;
}

/* The thread of the system that is inside of a tasklet now; *home: else that of its scheduler, or 0
 * when the thread has ended. */
static unsigned long system_thread_of(unsigned long ident, unsigned long *home)
{
    s_tasklet *t = patch_thread_find(ident);
    const s_sched *s = t != NULL ? t->owner : NULL;
    unsigned long thread = 0;
    *home = s != NULL && !s->ending ? s->thread_id : 0;
    if (t != NULL && t == patch_thread())
        thread = PyThread_get_thread_ident();
    else if (*home != 0)
        thread = thread_of_sitter(t);
    Py_XDECREF((PyObject *)t);
    return thread;
}

static PyObject *raise_no_thread(void)
{
    errno = ESRCH;
    return PyErr_SetFromErrno(PyExc_OSError);
}

/* Whichever thread takes it: also one that begins to wait for it only now. */
static PyObject *signal_process(PyObject *ident, PyObject *number)
{
    if (PySys_Audit("signal.pthread_kill", "OO", ident, number) < 0)
        return NULL;
    PyObject *os = PyImport_ImportModule("os");
    PyObject *done = os ? PyObject_CallMethod(os, "kill", "iO", p_process_id(), number) : NULL;
    Py_XDECREF(os);
    return done;
}

/* pthread_kill(ident, signal) */
static PyObject *thread_kill(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    patch_fast_call original = (patch_fast_call)(void (*)(void))kill_original;
    unsigned long ident, home;
    if (nargs != 2 || !is_tasklet_ident(args[0], &ident))
        return original(module, args, nargs);
    unsigned long thread = system_thread_of(ident, &home);
    if (home == 0)
        return raise_no_thread();
    if (thread == 0)
        return signal_process(args[0], args[1]);
    PyObject *both[] = {PyLong_FromUnsignedLong(thread), args[1]};
    PyObject *done = both[0] != NULL ? original(module, both, 2) : NULL;
    Py_XDECREF(both[0]);
    return done;
}

/* pthread_getcpuclockid(ident) */
static PyObject *thread_clock(PyObject *module, PyObject *args)
{
    unsigned long ident, home;
    if (PyTuple_GET_SIZE(args) != 1 || !is_tasklet_ident(PyTuple_GET_ITEM(args, 0), &ident))
        return clock_original(module, args);
    unsigned long thread = system_thread_of(ident, &home);
    if (home == 0)
        return raise_no_thread();
    PyObject *one = Py_BuildValue("(k)", thread != 0 ? thread : home);
    PyObject *clock = one != NULL ? clock_original(module, one) : NULL;
    Py_XDECREF(one);
    return clock;
}

void bind_replace_call(PyObject *module, const char *name, int flags, PyCFunction replacement,
                       PyCFunction *kept)
{
    PyCFunction none = NULL;
    PyObject *function = PyObject_GetAttrString(module, name);
    PyErr_Clear();
    PyCFunction original = function != NULL && PyCFunction_Check(function)
                               ? PyCFunction_GET_FUNCTION(function)
                               : replacement;
    if (original != replacement &&
        __atomic_compare_exchange_n(kept, &none, original, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        c_function_swap(function, flags, replacement);
    Py_XDECREF(function);
}

static void replace_in(const char *module_name, const char *name, int flags,
                       PyCFunction replacement, PyCFunction *kept)
{
    PyObject *module = *kept == NULL ? PyImport_ImportModule(module_name) : NULL;
    if (module != NULL)
        bind_replace_call(module, name, flags, replacement, kept);
    PyErr_Clear();
    Py_XDECREF(module);
}

void bind_patch_thread_calls(void)
{
    replace_in("_signal", "pthread_kill", METH_FASTCALL, BIND_FN(thread_kill), &kill_original);
    replace_in("time", "pthread_getcpuclockid", METH_VARARGS, thread_clock, &clock_original);
}
