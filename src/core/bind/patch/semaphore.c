/* _multiprocessing.SemLock: arguments, and installing.  What it does is in patch/semaphore.c.
 *
 * The methods are replaced once per process and for good; uninstall() only ends the waiting.  In an
 * interpreter that is not ours every function calls the original.
 */
#include "bind/patch/patch.h"
#include "cpython/semlock.h"

static PyTypeObject *semlock_type;
static PyCFunction enter_original, exit_original;

/* acquire(block=True, timeout=None): how long it waits, below 0 for ever.  1, or 0 when the
 * original shall say what is wrong. */
static int read_semlock_acquire(const patch_semaphore_call *call, int64_t *timeout)
{
    static const char *const names[] = {"block", "timeout", NULL};
    PyObject *values[2] = {Py_True, NULL};
    int known = bind_parse_arguments("acquire", names, 0, call->args, call->nargs, call->kwnames,
                                     values) == 0 &&
                PyLong_Check(values[0]);
    int wait = known ? PyObject_IsTrue(values[0]) : 0;
    if (known && bind_patch_timeout(values[1], 1e9, timeout) < 0) {
        double seconds =
            PyFloat_Check(values[1]) || PyIndex_Check(values[1]) ? PyFloat_AsDouble(values[1]) : 0;
        known = seconds < 0; /* it does not wait then */
        *timeout = 0;
    }
    PyErr_Clear();
    if (!wait)
        *timeout = 0;
    return known;
}

static PyObject *semlock_acquire(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *kwnames)
{
    int64_t timeout;
    s_sched *s;
    patch_semaphore_call call = {self, args, nargs, kwnames};
    if (!patch_in_our_interpreter(&s) || !read_semlock_acquire(&call, &timeout))
        return ((patch_keyword_call)(void (*)(void))patch_semaphore_originals.acquire)(
            self, args, nargs, kwnames);
    return patch_semaphore_acquire(s, &call, timeout);
}

static PyObject *semlock_release(PyObject *self, PyObject *unused)
{
    s_sched *s;
    return patch_in_our_interpreter(&s) ? patch_semaphore_release(s, self)
                                        : patch_semaphore_originals.release(self, unused);
}

static PyObject *semlock_enter(PyObject *self, PyObject *unused)
{
    s_sched *s;
    patch_semaphore_call call = {.semlock = self};
    return patch_in_our_interpreter(&s) ? patch_semaphore_acquire(s, &call, -1)
                                        : enter_original(self, unused);
}

static PyObject *semlock_exit(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    s_sched *s;
    if (nargs > 3 || !patch_in_our_interpreter(&s))
        return ((patch_fast_call)(void (*)(void))exit_original)(self, args, nargs);
    return patch_semaphore_release(s, self);
}

static PyObject *semlock_is_mine(PyObject *self, PyObject *unused)
{
    s_sched *s;
    return patch_in_our_interpreter(&s) ? PyBool_FromLong(patch_semaphore_is_owned(s, self))
                                        : patch_semaphore_originals.is_mine(self, unused);
}

static const c_method_replacement methods[] = {
    {"acquire", METH_FASTCALL | METH_KEYWORDS, BIND_FN(semlock_acquire),
     &patch_semaphore_originals.acquire},
    {"release", METH_NOARGS, semlock_release, &patch_semaphore_originals.release},
    {"__enter__", METH_NOARGS, semlock_enter, &enter_original},
    {"__exit__", METH_FASTCALL, BIND_FN(semlock_exit), &exit_original},
    {"_is_mine", METH_NOARGS, semlock_is_mine, &patch_semaphore_originals.is_mine},
};

int bind_patch_semaphores(int install)
{
    if (install && semlock_type == NULL) {
        int found = c_semlock_find(&semlock_type);
        if (found <= 0)
            return found;
        if (c_methods_replace(semlock_type, methods, sizeof(methods) / sizeof(*methods)) < 0) {
            Py_CLEAR(semlock_type);
            return -1;
        }
    }
    patch_semaphore_originals.cooperative = install;
    return 0;
}
