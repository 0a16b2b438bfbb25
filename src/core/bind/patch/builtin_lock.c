/* The methods of builtin locks, joining threads, and imports: arguments, and installing.
 *
 * bind_patch_builtin_locks() replaces the methods of _thread.lock and _thread.RLock
 * (cpython/builtin_lock.h), once per process and for good.  What they do is in
 * sync/builtin_lock.h.  Arguments that are not understood here go to the original method, which
 * says what is wrong with them.
 *
 * Two more things know OS threads where they should know tasklets.  A module that is being imported
 * is locked for a thread; importlib gets a _thread whose get_ident() tells tasklets apart, so a
 * second tasklet waits for the module as another thread would, and a cycle of such waits is found.
 * And joining a thread (3.13 on) waits for an event in C (patch/thread.c).
 *
 * Method definitions are shared by all interpreters of the process.  In one that is not ours, where
 * there are no tasklets and our table has no protection, every function calls the original.
 */
#include "sync/builtin_lock.h"

#include "bind/patch/patch.h"
#include "cpython/builtin_lock.h"
#include "patch/thread.h"
#include "sched/guests/stackless_run.h"

#define LONGEST 9223372036.0 /* seconds: threading.TIMEOUT_MAX */

static PyCFunction lock_reinit_original, rlock_reinit_original;
static PyCFunction rlock_restore_original, rlock_save_original;
static PyCFunction rlock_is_owned_original, rlock_recursion_count_original;

static vectorcallfunc acquire_call_original;

/* Seconds or -1 as nanoseconds; -1 when the original shall complain. */
static int read_lock_timeout(PyObject *timeout, int blocking, int64_t *nanoseconds)
{
    double seconds = -2;
    if (PyFloat_Check(timeout) || PyIndex_Check(timeout))
        seconds = PyFloat_AsDouble(timeout);
    PyErr_Clear();
    if (seconds == -1)
        return 0;
    if (!blocking || !(seconds >= 0 && seconds <= LONGEST))
        return -1;
    *nanoseconds = (int64_t)(seconds * 1e9);
    return 0;
}

/* Both arguments of acquire(), of which `timeout` may be NULL; -1 when the original shall complain.
 */
static int read_blocking(PyObject *blocking, PyObject *timeout, int64_t *nanoseconds)
{
    int wait = -1;
    if (c_builtin_lock_any_blocking || PyLong_Check(blocking))
        wait = PyObject_IsTrue(blocking);
    PyErr_Clear();
    *nanoseconds = wait == 0 ? 0 : S_FOREVER;
    return wait < 0 ? -1 : timeout != NULL ? read_lock_timeout(timeout, wait, nanoseconds) : 0;
}

/* acquire(blocking=True, timeout=-1); -1 when the original shall complain. */
static int read_builtin_acquire(PyObject *args, PyObject *kwargs, int64_t *nanoseconds)
{
    static char *names[] = {"blocking", "timeout", NULL};
    PyObject *timeout = NULL, *blocking = Py_True;
    *nanoseconds = S_FOREVER;
    if (PyTuple_GET_SIZE(args) == 0 && kwargs == NULL)
        return 0;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", names, &blocking, &timeout))
        return read_blocking(blocking, timeout, nanoseconds);
    PyErr_Clear();
    return -1;
}

/* The same for a call with its arguments in an array; -1 also when they are better parsed as above.
 */
static int read_acquire_call(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                             int64_t *nanoseconds)
{
    Py_ssize_t named = kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0;
    PyObject *timeout = nargs > 1 ? args[1] : NULL, *blocking = nargs > 0 ? args[0] : Py_True;
    *nanoseconds = S_FOREVER;
    if (nargs + named == 0)
        return 0;
    if (nargs + named > 2 || named > 1)
        return -1;
    if (named == 1 &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "timeout") == 0)
        timeout = args[nargs];
    else if (named == 1 && nargs == 0 &&
             PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "blocking") == 0)
        blocking = args[0];
    else if (named == 1)
        return -1;
    return read_blocking(blocking, timeout, nanoseconds);
}

static PyObject *builtin_lock_acquire(PyObject *self, PyObject *args, PyObject *kwargs)
{
    int64_t timeout;
    int code;
    s_sched *s;
    if (!patch_in_our_interpreter(&s) || read_builtin_acquire(args, kwargs, &timeout) < 0)
        return c_builtin_lock_acquire(self, args, kwargs);
    if (!s_is_cooperative(s))
        return y_builtin_lock_acquire_as_thread(s, self, timeout, args, kwargs);
    PyObject *done = y_builtin_lock_acquire(s, self, timeout, NULL, &code);
    return bind_result(done, code, (PyObject *)s->current);
}

/* The same where Python code calls it: a wait can be soft. */
static PyObject *builtin_lock_acquire_call(PyObject *method, PyObject *const *args, size_t nargsf,
                                           PyObject *kwnames)
{
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf) - 1;
    int64_t timeout;
    int code;
    s_sched *s;
    if (nargs < 0 || !PyObject_TypeCheck(args[0], PyDescr_TYPE(method)) ||
        !patch_in_our_interpreter(&s) || !s_is_cooperative(s) ||
        read_acquire_call(args + 1, nargs, kwnames, &timeout) < 0)
        return acquire_call_original(method, args, nargsf, kwnames);
    c_call_site site =
        BIND_SITE(args[0], args + 1, bind_argument_count(nargs, kwnames), builtin_lock_acquire);
    PyObject *done = y_builtin_lock_acquire(s, args[0], timeout, &site, &code);
    return bind_result(done, code, (PyObject *)s->current);
}

/* release(), and __exit__(*args). */
static PyObject *builtin_lock_release(PyObject *self, PyObject *unused)
{
    s_sched *s;
    (void)unused;
    return patch_in_our_interpreter(&s) ? y_builtin_lock_release(s, self)
                                        : c_builtin_lock_release(self);
}

/* `with lock:`, where one instruction calls both methods. */
static PyObject *builtin_lock_enter(PyObject *self, const c_call_site *site)
{
    int code;
    s_sched *s;
    if (patch_in_our_interpreter(&s) && s_is_cooperative(s)) {
        PyObject *done = y_builtin_lock_acquire(s, self, S_FOREVER, site, &code);
        return bind_result(done, code, (PyObject *)s->current);
    }
    PyObject *none = PyTuple_New(0);
    PyObject *done = none != NULL ? builtin_lock_acquire(self, none, NULL) : NULL;
    Py_XDECREF(none);
    return done;
}

static PyObject *builtin_lock_exit(PyObject *self)
{
    return builtin_lock_release(self, NULL);
}

static const c_with_methods builtin_lock_with = {builtin_lock_enter, builtin_lock_exit};

static PyObject *reinit_after_fork(PyObject *self, PyCFunction original)
{
    s_sched *s;
    return patch_in_our_interpreter(&s) ? y_builtin_lock_reinit(s, self, original)
                                        : original(self, NULL);
}

static PyObject *builtin_lock_at_fork_reinit(PyObject *self, PyObject *unused)
{
    (void)unused;
    return reinit_after_fork(self, lock_reinit_original);
}

static PyObject *rlock_at_fork_reinit(PyObject *self, PyObject *unused)
{
    (void)unused;
    return reinit_after_fork(self, rlock_reinit_original);
}

static PyObject *rlock_is_owned(PyObject *self, PyObject *unused)
{
    s_sched *s;
    if (!patch_in_our_interpreter(&s))
        return rlock_is_owned_original(self, unused);
    return PyBool_FromLong(c_builtin_rlock_owner(self) == y_owner_ident(s));
}

static PyObject *rlock_recursion_count(PyObject *self, PyObject *unused)
{
    s_sched *s;
    if (!patch_in_our_interpreter(&s))
        return rlock_recursion_count_original(self, unused);
    int owned = c_builtin_rlock_owner(self) == y_owner_ident(s);
    return PyLong_FromSize_t(owned ? c_builtin_rlock_count(self) : 0);
}

/* _acquire_restore((count, owner)) */
static PyObject *rlock_acquire_restore(PyObject *self, PyObject *args)
{
    unsigned long count;
    unsigned long long owner;
    int code;
    s_sched *s;
    if (!patch_in_our_interpreter(&s))
        return rlock_restore_original(self, args);
    if (!PyArg_ParseTuple(args, "(kK):_acquire_restore", &count, &owner))
        return NULL;
    if (!s_is_cooperative(s))
        return y_builtin_lock_restore_as_thread(s, self, count, rlock_restore_original, args);
    PyObject *done = y_builtin_lock_restore(s, self, count, &code);
    if (done == NULL)
        return bind_result(NULL, code, (PyObject *)s->current);
    Py_DECREF(done);
    Py_RETURN_NONE;
}

/* _release_save(): the lock is free, whatever owned it. */
static PyObject *rlock_release_save(PyObject *self, PyObject *unused)
{
    s_sched *s;
    if (!patch_in_our_interpreter(&s))
        return rlock_save_original(self, unused);
    y_builtin_lock_lend(s, self);
    PyObject *done = rlock_save_original(self, unused);
    if (done != NULL)
        y_builtin_lock_released(s, self);
    return done;
}

/* _ThreadHandle.join(timeout=None) */
static PyObject *handle_join(PyObject *self, PyObject *args)
{
    PyObject *timeout = PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, 0) : Py_None;
    int64_t nanoseconds = S_FOREVER;
    double seconds = -1;
    s_sched *s;
    if (!patch_in_our_interpreter(&s))
        return patch_handle_originals.join(self, args);
    if (PyFloat_Check(timeout) || PyIndex_Check(timeout))
        seconds = PyFloat_AsDouble(timeout);
    PyErr_Clear();
    if (!s_is_cooperative(s) || s->trap || PyTuple_GET_SIZE(args) > 1)
        return patch_handle_originals.join(self, args);
    if (seconds >= 0 && seconds < LONGEST)
        nanoseconds = (int64_t)(seconds * 1e9);
    return patch_thread_join(s, self, args, nanoseconds);
}

/* ---- importlib ----------------------------------------------------------------- */

static PyObject *import_get_ident(PyObject *module, PyObject *unused)
{
    s_sched *s;
    (void)module, (void)unused;
    return PyLong_FromUnsignedLongLong(patch_in_our_interpreter(&s) ? y_owner_ident(s)
                                                                    : PyThread_get_thread_ident());
}

static PyMethodDef ident_method = {
    "get_ident", import_get_ident, METH_NOARGS,
    PyDoc_STR("get_ident()\n--\n\nTells threads apart, and the tasklets of a thread.")};

/* A module like _thread whose get_ident() is ours. */
static PyObject *make_import_thread_module(void)
{
    PyObject *old = PyImport_ImportModule("_thread"), *new = PyModule_New("_thread");
    PyObject *ident = PyCFunction_New(&ident_method, NULL);
    if (old == NULL || new == NULL || ident == NULL ||
        PyDict_Update(PyModule_GetDict(new), PyModule_GetDict(old)) < 0 ||
        PyObject_SetAttrString(new, "get_ident", ident) < 0)
        Py_CLEAR(new);
    Py_XDECREF(old);
    Py_XDECREF(ident);
    return new;
}

static int patch_imports(void)
{
    PyObject *importlib = PyImport_ImportModule("_frozen_importlib");
    PyObject *module = importlib ? make_import_thread_module() : NULL;
    int code = module ? PyObject_SetAttrString(importlib, "_thread", module) : -1;
    Py_XDECREF(importlib);
    Py_XDECREF(module);
    return code;
}

/* ---- installing -------------------------------------------------------------------- */

#define TAKES (METH_VARARGS | METH_KEYWORDS)

static const c_method_replacement lock_methods[] = {
    {"acquire", TAKES, BIND_FN(builtin_lock_acquire), &c_builtin_lock_original[0].acquire},
    {"acquire_lock", TAKES, BIND_FN(builtin_lock_acquire), NULL},
    {"__enter__", TAKES, BIND_FN(builtin_lock_acquire), NULL},
    {"release", METH_NOARGS, builtin_lock_release, &c_builtin_lock_original[0].release},
    {"release_lock", METH_NOARGS, builtin_lock_release, NULL},
    {"__exit__", METH_VARARGS, builtin_lock_release, NULL},
    {"_at_fork_reinit", METH_NOARGS, builtin_lock_at_fork_reinit, &lock_reinit_original},
};

static const c_call_replacement acquire_calls[] = {
    {"acquire", builtin_lock_acquire_call, &acquire_call_original},
    {"acquire_lock", builtin_lock_acquire_call, &acquire_call_original},
    {"__enter__", builtin_lock_acquire_call, &acquire_call_original},
};

static const c_method_replacement rlock_methods[] = {
    {"acquire", TAKES, BIND_FN(builtin_lock_acquire), &c_builtin_lock_original[1].acquire},
    {"__enter__", TAKES, BIND_FN(builtin_lock_acquire), NULL},
    {"release", METH_NOARGS, builtin_lock_release, &c_builtin_lock_original[1].release},
    {"__exit__", METH_VARARGS, builtin_lock_release, NULL},
    {"_is_owned", METH_NOARGS, rlock_is_owned, &rlock_is_owned_original},
    {"_recursion_count", METH_NOARGS, rlock_recursion_count, &rlock_recursion_count_original},
    {"_acquire_restore", METH_VARARGS, rlock_acquire_restore, &rlock_restore_original},
    {"_release_save", METH_NOARGS, rlock_release_save, &rlock_save_original},
    {"_at_fork_reinit", METH_NOARGS, rlock_at_fork_reinit, &rlock_reinit_original},
};

static const c_method_replacement handle_methods[] = {
    {"is_done", METH_NOARGS, NULL, &patch_handle_originals.is_done},
    {"join", METH_VARARGS, handle_join, &patch_handle_originals.join},
};

#define COUNT_OF(table) (sizeof(table) / sizeof(*(table)))
#define REPLACE(type, methods) c_methods_replace(type, methods, COUNT_OF(methods))

/* The lock of a Condition is taken back without being interrupted. */
static int find_condition_restore(void)
{
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *type = threading ? PyObject_GetAttrString(threading, "Condition") : NULL;
    PyObject *method = type ? PyObject_GetAttrString(type, "_acquire_restore") : NULL;
    PyObject *code = method ? PyObject_GetAttrString(method, "__code__") : NULL;
    if (code != NULL)
        y_builtin_lock_uninterruptible(code);
    Py_XDECREF(threading);
    Py_XDECREF(type);
    Py_XDECREF(method);
    return code ? 0 : -1;
}

static int replace_lock_methods(void)
{
    if (c_builtin_lock_find() < 0 || REPLACE(c_builtin_lock_type, lock_methods) < 0 ||
        REPLACE(c_builtin_rlock_type, rlock_methods) < 0)
        return -1;
    c_calls_replace(c_builtin_lock_type, acquire_calls, COUNT_OF(acquire_calls));
    c_calls_replace(c_builtin_rlock_type, acquire_calls, COUNT_OF(acquire_calls));
    if (c_with_replace(c_builtin_lock_type, &builtin_lock_with) < 0 ||
        c_with_replace(c_builtin_rlock_type, &builtin_lock_with) < 0)
        return -1;
    PyObject *module = PyImport_ImportModule("_thread");
    PyObject *handle = module ? PyObject_GetAttrString(module, "_ThreadHandle") : NULL;
    int code = handle ? REPLACE((PyTypeObject *)handle, handle_methods) : 0;
    if (handle == NULL)
        PyErr_Clear();
    Py_XDECREF(module);
    Py_XDECREF(handle);
    return code;
}

int bind_patch_builtin_locks(void)
{
    static int installed;
    if (!installed &&
        (find_condition_restore() < 0 || replace_lock_methods() < 0 || patch_imports() < 0))
        return -1;
    installed = 1;
    return 0;
}

static PyObject *patch_builtin_locks(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return bind_patch_builtin_locks() < 0 ? NULL : Py_NewRef(Py_None);
}

PyMethodDef bind_builtin_lock_functions[] = {
    {"_patch_builtin_locks", patch_builtin_locks, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
