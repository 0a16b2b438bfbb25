/* fcntl.flock, lockf and fcntl: their arguments, and installing.
 *
 * What they do is in patch/file_lock.c.  A call that is not understood goes to the original.
 */
#include <limits.h>

#include "bind/patch/patch.h"

static c_replaced_function flock_original, lockf_original, fcntl_original;

/* The operation or command: 1, or 0 when the original shall answer or complain. */
static int read_operation(const patch_lock_call *call, int *operation)
{
    int has_one = call->nargs >= 2 && call->nargs <= PATCH_LOCK_ARGS;
    long value = has_one && PyLong_Check(call->args[1]) ? PyLong_AsLong(call->args[1]) : LONG_MAX;
    PyErr_Clear();
    *operation = (int)value;
    return value >= INT_MIN && value <= INT_MAX;
}

static PyObject *lock_file(patch_lock_call *call)
{
    int operation;
    if (!read_operation(call, &operation))
        return PyObject_Vectorcall(call->kept->original, call->args, (size_t)call->nargs, NULL);
    call->nonblocking = p_lock_nonblocking(operation);
    call->blocks = p_lock_blocks(operation);
    call->may_release = call->of_range || p_lock_may_release(operation);
    return patch_lock(call);
}

static PyObject *fcntl_flock(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    patch_lock_call call = {.kept = &flock_original, .args = args, .nargs = nargs};
    (void)module;
    return lock_file(&call);
}

static PyObject *fcntl_lockf(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    patch_lock_call call = {.kept = &lockf_original, .args = args, .nargs = nargs, .of_range = 1};
    (void)module;
    return lock_file(&call);
}

static PyObject *fcntl_fcntl(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    patch_lock_call call = {.kept = &fcntl_original, .args = args, .nargs = nargs, .of_range = 1};
    int command;
    (void)module;
    call.nonblocking = read_operation(&call, &command) ? p_range_lock_nonblocking(command) : -1;
    if (call.nonblocking < 0)
        return PyObject_Vectorcall(fcntl_original.original, args, (size_t)nargs, NULL);
    call.blocks = command != call.nonblocking;
    call.may_release = 1;
    return patch_lock(&call);
}

static const c_function_replacement functions[] = {
    {"flock", METH_FASTCALL, BIND_FN(fcntl_flock), &flock_original},
    {"lockf", METH_FASTCALL, BIND_FN(fcntl_lockf), &lockf_original},
    {"fcntl", METH_FASTCALL, BIND_FN(fcntl_fcntl), &fcntl_original},
};

#define COUNT (sizeof(functions) / sizeof(*functions))

int bind_patch_file_locks(int install)
{
    if (install)
        return c_functions_replace("fcntl", functions, COUNT);
    c_functions_restore(functions, COUNT);
    return 0;
}
