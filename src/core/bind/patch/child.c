/* os.waitpid, wait, wait3, wait4 and waitid: their arguments, and installing.
 *
 * What they do is in patch/child.c.  A call that need not wait, or is not understood, goes to the
 * original.
 */
#include <limits.h>

#include "bind/patch/patch.h"

static c_replaced_function waitpid_original, wait_original, wait3_original, wait4_original;
static c_replaced_function waitid_original;

/* Fills the query: 1; 0 when the original shall answer or complain. */
static int read_query(patch_child_query *q, PyObject *const *args, Py_ssize_t nargs, int count)
{
    q->count = count;
    for (int i = 0; i < count && nargs == count; i++) {
        long value = PyLong_Check(args[i]) ? PyLong_AsLong(args[i]) : LONG_MAX;
        if (value > INT_MAX || value < INT_MIN || PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        q->values[i] = (int)value;
    }
    return nargs == count && p_child_wait_blocks(q->values[count - 1]);
}

static PyObject *wait_for_child(const c_replaced_function *kept, PyObject *const *args,
                                Py_ssize_t nargs, int count)
{
    patch_child_query q = {.kept = kept, .by_kind = kept == &waitid_original};
    s_sched *s = read_query(&q, args, nargs, count) ? patch_scheduler() : NULL;
    if (s == NULL)
        return PyObject_Vectorcall(kept->original, args, (size_t)nargs, NULL);
    return patch_child_wait(s, &q);
}

/* The same for arguments that can be given by name. */
static PyObject *wait_by_name(const c_replaced_function *kept, const char *const *names,
                              PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, int count)
{
    PyObject *values[2] = {NULL, NULL};
    if (bind_parse_arguments("wait", names, count, args, nargs, kwnames, values) == 0)
        return wait_for_child(kept, values, count, count);
    PyErr_Clear();
    return PyObject_Vectorcall(kept->original, args, (size_t)nargs, kwnames);
}

static PyObject *os_waitpid(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    return wait_for_child(&waitpid_original, args, nargs, 2);
}

/* wait() is waitpid(-1, 0). */
static PyObject *os_wait(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    static const patch_child_query any = {.kept = &waitpid_original, .values = {-1, 0}, .count = 2};
    s_sched *s = nargs == 0 ? patch_scheduler() : NULL;
    (void)module;
    if (s == NULL)
        return PyObject_Vectorcall(wait_original.original, args, (size_t)nargs, NULL);
    return patch_child_wait(s, &any);
}

static PyObject *os_wait3(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
    static const char *const names[] = {"options", NULL};
    (void)module;
    return wait_by_name(&wait3_original, names, args, nargs, kwnames, 1);
}

static PyObject *os_wait4(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
    static const char *const names[] = {"pid", "options", NULL};
    (void)module;
    return wait_by_name(&wait4_original, names, args, nargs, kwnames, 2);
}

static PyObject *os_waitid(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    return wait_for_child(&waitid_original, args, nargs, 3);
}

static const c_function_replacement functions[] = {
    {"waitpid", METH_FASTCALL, BIND_FN(os_waitpid), &waitpid_original},
    {"wait", METH_NOARGS, BIND_FN(os_wait), &wait_original},
    {"wait3", METH_FASTCALL | METH_KEYWORDS, BIND_FN(os_wait3), &wait3_original},
    {"wait4", METH_FASTCALL | METH_KEYWORDS, BIND_FN(os_wait4), &wait4_original},
    {"waitid", METH_FASTCALL, BIND_FN(os_waitid), &waitid_original},
};

#define COUNT (sizeof(functions) / sizeof(*functions))

int bind_patch_children(int install)
{
    if (install)
        return c_functions_replace("os", functions, COUNT);
    c_functions_restore(functions, COUNT);
    return 0;
}
