/* The methods of the stock locks, and the calls of the interpreter beside them.
 *
 * bind_patch_builtin_locks() exchanges the methods of _thread.lock and _thread.RLock
 * (cpython/builtin_lock.h), once per process and for good.  Arguments that we do
 * not understand are handed to the original method, which says what is wrong
 * with them in its own words.
 *
 * Two more things know OS threads where they should know tasklets.  A module that
 * is being imported is locked for a thread; importlib is given a _thread whose
 * get_ident() tells tasklets apart, so a second tasklet waits for the module as
 * another thread would, and a cycle of such waits is found.  And joining a thread
 * (3.13 and newer) waits for an event in C: a tasklet looks again by a timer.
 *
 * Method definitions are shared by all interpreters of the process.  In one that is
 * not ours, where there are no tasklets and our table has no protection, every
 * function hands on to the original.
 */
#include "sync/builtin_lock.h"
#include "bind/patch/threads.h"
#include "cpython/builtin_lock.h"

#define LONGEST 9223372036.0 /* seconds: threading.TIMEOUT_MAX */

static PyCFunction lock_reinit, rlock_reinit, rlock_restore, rlock_save;
static PyCFunction rlock_is_owned, rlock_recursion_count, thread_join, thread_is_done;

/* Seconds or -1 as nanoseconds; -1 when the original shall complain. */
static int read_timeout(PyObject *timeout, int blocking, int64_t *nanoseconds)
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

/* acquire(blocking=True, timeout=-1); -1 when the original shall complain. */
static int read_arguments(PyObject *args, PyObject *kwargs, int64_t *nanoseconds)
{
    static char *names[] = {"blocking", "timeout", NULL};
    PyObject *timeout = NULL, *blocking = Py_True;
    *nanoseconds = S_FOREVER;
    if (PyTuple_GET_SIZE(args) == 0 && kwargs == NULL)
        return 0;
    int wait = -1;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", names, &blocking, &timeout) &&
        (c_builtin_lock_any_blocking || PyLong_Check(blocking)))
        wait = PyObject_IsTrue(blocking);
    PyErr_Clear();
    if (wait == 0)
        *nanoseconds = 0;
    return wait < 0 ? -1 : timeout != NULL ? read_timeout(timeout, wait, nanoseconds) : 0;
}

static PyObject *acquire(PyObject *self, PyObject *args, PyObject *kwargs)
{
    int64_t timeout;
    int code;
    s_sched *s;
    if (!bind_is_ours(&s) || read_arguments(args, kwargs, &timeout) < 0)
        return c_builtin_lock_acquire(self, args, kwargs);
    if (!y_is_cooperative(s))
        return y_builtin_lock_acquire_as_thread(self, timeout, args, kwargs);
    PyObject *done = y_builtin_lock_acquire(s, self, timeout, &code);
    return bind_result(done, code, (PyObject *)s->current);
}

/* release(), and __exit__(*args). */
static PyObject *release(PyObject *self, PyObject *unused)
{
    s_sched *s;
    (void)unused;
    return bind_is_ours(&s) ? y_builtin_lock_release(s, self) : c_builtin_lock_release(self);
}

static PyObject *reinit(PyObject *self, PyCFunction original)
{
    s_sched *s;
    return bind_is_ours(&s) ? y_builtin_lock_reinit(s, self, original) : original(self, NULL);
}

static PyObject *reinit_lock(PyObject *self, PyObject *unused)
{
    (void)unused;
    return reinit(self, lock_reinit);
}

static PyObject *reinit_rlock(PyObject *self, PyObject *unused)
{
    (void)unused;
    return reinit(self, rlock_reinit);
}

static PyObject *is_owned(PyObject *self, PyObject *unused)
{
    s_sched *s;
    if (!bind_is_ours(&s))
        return rlock_is_owned(self, unused);
    return PyBool_FromLong(c_builtin_rlock_owner(self) == y_owner_ident(s));
}

static PyObject *recursion_count(PyObject *self, PyObject *unused)
{
    s_sched *s;
    if (!bind_is_ours(&s))
        return rlock_recursion_count(self, unused);
    int owned = c_builtin_rlock_owner(self) == y_owner_ident(s);
    return PyLong_FromSize_t(owned ? c_builtin_rlock_count(self) : 0);
}

/* _acquire_restore((count, owner)) */
static PyObject *restore(PyObject *self, PyObject *args)
{
    unsigned long count;
    unsigned long long owner;
    int code;
    s_sched *s;
    if (!bind_is_ours(&s))
        return rlock_restore(self, args);
    if (!PyArg_ParseTuple(args, "(kK):_acquire_restore", &count, &owner))
        return NULL;
    if (!y_is_cooperative(s))
        return y_builtin_lock_restore_as_thread(self, count, rlock_restore, args);
    PyObject *done = y_builtin_lock_restore(s, self, count, &code);
    if (done == NULL)
        return bind_result(NULL, code, (PyObject *)s->current);
    Py_DECREF(done);
    Py_RETURN_NONE;
}

/* _release_save(): the lock is free, whoever owned it. */
static PyObject *save(PyObject *self, PyObject *unused)
{
    s_sched *s;
    if (!bind_is_ours(&s))
        return rlock_save(self, unused);
    y_builtin_lock_lend(s, self);
    PyObject *done = rlock_save(self, unused);
    if (done != NULL)
        y_builtin_lock_released(s, self);
    return done;
}

/* join() with `timeout` 0: says what is wrong, and waits for nothing. */
static int may_join(PyObject *self)
{
    PyObject *args = Py_BuildValue("(i)", 0), *done = args ? thread_join(self, args) : NULL;
    Py_XDECREF(args);
    Py_XDECREF(done);
    return done != NULL;
}

/* Of a thread that is a tasklet: the lock is passed on to the next who waits. */
static PyObject *wait_for_end(s_sched *s, PyObject *end, int64_t timeout, int *code)
{
    PyObject *ended = y_builtin_lock_acquire(s, end, timeout, code);
    PyObject *passed = ended == Py_True ? y_builtin_lock_release(s, end) : NULL;
    if (ended == Py_True && passed == NULL) {
        *code = S_E_SET;
        Py_CLEAR(ended);
    }
    Py_XDECREF(passed);
    return ended;
}

/* _ThreadHandle.join(timeout=None) */
static PyObject *join(PyObject *self, PyObject *args)
{
    PyObject *timeout = PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, 0) : Py_None;
    int64_t nanoseconds = S_FOREVER;
    int code = S_OK;
    s_sched *s;
    if (!bind_is_ours(&s))
        return thread_join(self, args);
    double seconds =
        PyFloat_Check(timeout) || PyIndex_Check(timeout) ? PyFloat_AsDouble(timeout) : -1;
    PyErr_Clear();
    if (!y_is_cooperative(s) || s->trap || PyTuple_GET_SIZE(args) > 1)
        return thread_join(self, args);
    if (!may_join(self))
        return NULL;
    if (seconds >= 0 && seconds < LONGEST)
        nanoseconds = (int64_t)(seconds * 1e9);
    PyObject *end = bind_thread_end(self);
    PyObject *ended = end ? wait_for_end(s, end, nanoseconds, &code)
                          : y_poll_until(s, thread_is_done, self, nanoseconds, &code);
    Py_XDECREF(end);
    if (ended == NULL)
        return bind_result(NULL, code, (PyObject *)s->current);
    Py_DECREF(ended);
    return ended == Py_True ? thread_join(self, args) : Py_NewRef(Py_None);
}

/* ---- importlib ----------------------------------------------------------------- */

static PyObject *get_ident(PyObject *module, PyObject *unused)
{
    s_sched *s;
    (void)module, (void)unused;
    return PyLong_FromUnsignedLongLong(bind_is_ours(&s) ? y_owner_ident(s)
                                                        : PyThread_get_thread_ident());
}

static PyMethodDef ident_method = {
    "get_ident", get_ident, METH_NOARGS,
    PyDoc_STR("get_ident()\n--\n\nTells threads apart, and the tasklets of a thread.")};

/* A module like _thread whose get_ident() is ours. */
static PyObject *thread_module(void)
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

static int own_imports(void)
{
    PyObject *importlib = PyImport_ImportModule("_frozen_importlib");
    PyObject *module = importlib ? thread_module() : NULL;
    int code = module ? PyObject_SetAttrString(importlib, "_thread", module) : -1;
    Py_XDECREF(importlib);
    Py_XDECREF(module);
    return code;
}

/* ---- installing -------------------------------------------------------------------- */

#define TAKES (METH_VARARGS | METH_KEYWORDS)

static const c_method_replacement lock_methods[] = {
    {"acquire", TAKES, BIND_FN(acquire), &c_builtin_lock_original[0].acquire},
    {"acquire_lock", TAKES, BIND_FN(acquire), NULL},
    {"__enter__", TAKES, BIND_FN(acquire), NULL},
    {"release", METH_NOARGS, release, &c_builtin_lock_original[0].release},
    {"release_lock", METH_NOARGS, release, NULL},
    {"__exit__", METH_VARARGS, release, NULL},
    {"_at_fork_reinit", METH_NOARGS, reinit_lock, &lock_reinit},
};

static const c_method_replacement rlock_methods[] = {
    {"acquire", TAKES, BIND_FN(acquire), &c_builtin_lock_original[1].acquire},
    {"__enter__", TAKES, BIND_FN(acquire), NULL},
    {"release", METH_NOARGS, release, &c_builtin_lock_original[1].release},
    {"__exit__", METH_VARARGS, release, NULL},
    {"_is_owned", METH_NOARGS, is_owned, &rlock_is_owned},
    {"_recursion_count", METH_NOARGS, recursion_count, &rlock_recursion_count},
    {"_acquire_restore", METH_VARARGS, restore, &rlock_restore},
    {"_release_save", METH_NOARGS, save, &rlock_save},
    {"_at_fork_reinit", METH_NOARGS, reinit_rlock, &rlock_reinit},
};

static const c_method_replacement thread_methods[] = {
    {"is_done", METH_NOARGS, NULL, &thread_is_done},
    {"join", METH_VARARGS, join, &thread_join},
};

#define EXCHANGE(type, methods) c_methods_replace(type, methods, sizeof(methods) / sizeof(*methods))

/* The lock of a Condition is taken back without being interrupted. */
static int find_condition(void)
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

static int exchange(void)
{
    if (c_builtin_lock_find() < 0 || EXCHANGE(c_builtin_lock_type, lock_methods) < 0 ||
        EXCHANGE(c_builtin_rlock_type, rlock_methods) < 0)
        return -1;
    PyObject *module = PyImport_ImportModule("_thread");
    PyObject *handle = module ? PyObject_GetAttrString(module, "_ThreadHandle") : NULL;
    int code = handle ? EXCHANGE((PyTypeObject *)handle, thread_methods) : 0;
    if (handle == NULL)
        PyErr_Clear();
    Py_XDECREF(module);
    Py_XDECREF(handle);
    return code;
}

int bind_patch_builtin_locks(void)
{
    static int installed;
    if (!installed && (find_condition() < 0 || exchange() < 0 || own_imports() < 0))
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
