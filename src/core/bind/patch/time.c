/* time.sleep, and timeouts as arguments.
 *
 * time.sleep becomes a function of our own in the same object, with its argument where the caller's
 * frame has it, so that sleeping is soft.
 */
#include <math.h>

#include "bind/patch/patch.h"

#define LONGEST 9.2e18 /* ns that fit */

int bind_patch_timeout(PyObject *value, double unit, int64_t *nanoseconds)
{
    double number = -1;
    *nanoseconds = -1;
    if (value == NULL || value == Py_None)
        return 0;
    if (PyFloat_Check(value) || PyIndex_Check(value))
        number = PyFloat_AsDouble(value);
    PyErr_Clear();
    if (!(number >= 0 && number * unit < LONGEST))
        return -1;
    *nanoseconds = (int64_t)ceil(number * unit);
    return 0;
}

static c_replaced_function sleep_original;

static PyObject *time_sleep(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    int code;
    int64_t nanoseconds;
    s_sched *s = nargs == 1 ? patch_scheduler() : NULL;
    if (nargs != 1) {
        PyErr_Format(PyExc_TypeError, "time.sleep() takes exactly one argument (%zd given)", nargs);
        return NULL;
    }
    if (s == NULL || bind_patch_timeout(args[0], 1e9, &nanoseconds) < 0 || nanoseconds < 0)
        return sleep_original.builtin->ml_meth(module, args[0]);
    if (PySys_Audit("time.sleep", "O", args[0]) < 0)
        return NULL;
    c_call_site site = BIND_SITE(module, args, nargs, time_sleep);
    PyObject *done = s_sleep(s, nanoseconds, &site, &code);
    return bind_result(done, code, (PyObject *)s->current);
}

int bind_patch_time(int install)
{
    static const c_function_replacement functions[] = {
        {"sleep", METH_O, BIND_FN(time_sleep), &sleep_original}};
    if (install)
        return c_functions_replace("time", functions, 1);
    c_functions_restore(functions, 1);
    return 0;
}
