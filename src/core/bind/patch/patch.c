/* loomlet.patch: time.sleep, and putting the parts together.
 *
 * The replacements take the place of the interpreter's C functions (cpython/replace.h), never of
 * Python classes or names.  time.sleep becomes a function of our own in the same object, with
 * the arguments where the caller's frame has them, so that sleeping is soft.
 */
#include "bind/patch/patch.h"

#include <errno.h>
#include <math.h>

#include "sync/builtin_lock.h"

#define LONGEST 9.2e18 /* ns that fit */

static int installed;

/* ---- what all parts share ------------------------------------------------------- */

int bind_is_ours(s_sched **s)
{
    PyThreadState *ts = PyThreadState_Get();
    *s = s_self_ != NULL && s_self_->ts == ts ? s_self_ : NULL;
    return *s != NULL || PyThreadState_GetInterpreter(ts) == PyInterpreterState_Main();
}

s_sched *bind_patch_sched(void)
{
    s_sched *s = s_self_;
    if (s == NULL || s->ts != c_thread_state() || s->trap > 0 || !y_is_cooperative(s))
        return NULL;
    return s;
}

int bind_patch_until(s_sched *s, int64_t timeout, int64_t *until)
{
    int64_t now = timeout < 0 ? 0 : s_now(s);
    int code = s_may_block(s);
    *until = timeout < 0 || timeout >= S_FOREVER - 1 - now ? S_FOREVER : now + timeout;
    if (code < 0)
        bind_fail(code, (PyObject *)s->current);
    return code < 0 ? -1 : 0;
}

int bind_patch_wait(s_sched *s, int fd, unsigned what, PyObject *owner, int64_t until)
{
    int code;
    PyObject *done = i_external_wait(s, fd, what, owner, until, &code);
    if (done == NULL) {
        bind_result(NULL, code, (PyObject *)s->current);
        return -1;
    }
    Py_DECREF(done);
    if (done == Py_None) {
        errno = EBADF;
        PyErr_SetFromErrno(PyExc_OSError);
        return -1;
    }
    return done == Py_False;
}

int bind_patch_pause(s_sched *s, int64_t nanoseconds)
{
    int code;
    PyObject *done = s_sleep(s, nanoseconds, NULL, &code);
    bind_result(done, code, (PyObject *)s->current);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

int bind_patch_late(void)
{
    PyErr_SetString(PyExc_TimeoutError, "timed out");
    return -1;
}

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

/* ---- time.sleep ------------------------------------------------------------------- */

static c_replaced_function sleeping;

static PyObject *sleep_(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    int code;
    int64_t nanoseconds;
    s_sched *s = nargs == 1 ? bind_patch_sched() : NULL;
    if (nargs != 1) {
        PyErr_Format(PyExc_TypeError, "time.sleep() takes exactly one argument (%zd given)", nargs);
        return NULL;
    }
    if (s == NULL || bind_patch_timeout(args[0], 1e9, &nanoseconds) < 0 || nanoseconds < 0)
        return sleeping.stock->ml_meth(module, args[0]);
    if (PySys_Audit("time.sleep", "O", args[0]) < 0)
        return NULL;
    c_call_site site = BIND_SITE(module, args, nargs, sleep_);
    PyObject *done = s_sleep(s, nanoseconds, &site, &code);
    return bind_result(done, code, (PyObject *)s->current);
}

static int patch_time(int install)
{
    static const c_function_replacement functions[] = {
        {"sleep", METH_O, BIND_FN(sleep_), &sleeping}};
    if (install)
        return c_functions_replace("time", functions, 1);
    c_functions_restore(functions, 1);
    return 0;
}

/* ---- all together ----------------------------------------------------------------------- */

static int (*const parts[])(int install) = {
    patch_time,        bind_patch_sockets,   bind_patch_select, bind_patch_ssl,
    bind_patch_names,  bind_patch_processes, bind_patch_files,  bind_patch_buffers,
    bind_patch_queues, bind_patch_locals};

/* A tasklet that waits in a patched call may hold a stock lock: that must know tasklets. */
static int patch_all(int install)
{
    int code = install ? bind_patch_builtin_locks() : 0;
    for (size_t i = 0; code == 0 && i < sizeof(parts) / sizeof(*parts); i++)
        code = parts[i](install);
    return code;
}

/* _patch(True) or _patch(False); _patch(None) asks.  Returns whether it was installed. */
static PyObject *patch(PyObject *module, PyObject *wanted)
{
    (void)module;
    int before = installed;
    int install = wanted == Py_True;
    if (wanted == Py_None || install == before)
        return PyBool_FromLong(before);
    if (patch_all(install) < 0) {
        PyObject *error = PyErr_GetRaisedException();
        patch_all(0);
        PyErr_SetRaisedException(error);
        return NULL;
    }
    installed = install;
    return PyBool_FromLong(before);
}

PyMethodDef bind_patch_functions[] = {
    {"_patch", patch, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
