/* Threads that are tasklets: threading.Thread and all that stands on it.
 *
 * Inside loomlet.run() the C functions that start a thread make a tasklet of the calling thread's
 * scheduler instead, which everybody who asks takes for a thread: it has an ident of its own
 * (odd, so no thread of the system has it, and that by which it owns RLocks), a contextvars
 * context that is empty, a handle (3.13 on) or a lock (before) that tells its end, values of
 * threading.local, and exceptions that go to sys.unraisablehook.  threading keeps its books of it
 * in Python, with locks that know tasklets already.  A tasklet that was spawned is no thread:
 * it is a part of the one that it runs in.
 *
 * The end.  What waits for it waits for a lock, which is given back last.
 *
 * Threads of the system are started: outside run(), because no scheduler would run them there; in
 * other interpreters; and by code of a running event loop of asyncio, which hands to threads what
 * would block the loop.
 *
 * After uninstall() threads that run go on being what they are: what tells who they are stays ours.
 *
 * Fork.  In the child there is only the thread that has forked.  The others do not run there, nor
 * their `finally` blocks; when it is itself a tasklet, that means main and all others too, and
 * the process ends with it.
 *
 * Functions are exchanged in their definitions, with the same flags: names that modules have
 * bound before (threading._start_new_thread) lead to the same object.
 */
#include "bind/patch/threads.h"
#include "bind/native/native.h"

#include "cpython/builtin_lock.h"
#include "cpython/builtin_thread.h"
#include "sync/builtin_lock.h"

static PyObject *ends;     /* keys of threads with a handle, and their locks */
static Py_ssize_t alive;   /* threads that are tasklets */
static s_identity *forked; /* in the child of a fork: that of the thread that has forked */
static PyObject *sentinel; /* makes what threading waits for of such a lock (3.11, 3.12) */

s_tasklet *bind_patch_thread(void)
{
    s_tasklet *t = bind_patch_tasklet();
    return t != NULL && s_is_thread(t) ? t : NULL;
}

/* ---- the originals ------------------------------------------------------------------------ */

enum { IDENT, START, START_OLD, JOINABLE, SENTINEL, HOOK, NAME, FUNCTIONS };
static PyCFunction stock[FUNCTIONS];

static PyObject *get_ident(PyObject *module, PyObject *unused)
{
    s_tasklet *t = bind_patch_thread();
    return t != NULL ? Py_NewRef(t->identity->key) : stock[IDENT](module, unused);
}

/* _set_sentinel(): the lock that threading waits for (3.11, 3.12). */
static PyObject *set_sentinel(PyObject *module, PyObject *unused)
{
    s_tasklet *t = bind_patch_thread();
    if (t == NULL)
        return stock[SENTINEL](module, unused);
    return PyObject_CallOneArg(sentinel, t->identity->end);
}

/* set_name(): the name of the thread of the system, which is another one's. */
static PyObject *set_name(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
    if (bind_patch_thread() != NULL)
        Py_RETURN_NONE;
    PyObject *(*original)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) =
        (void *)stock[NAME];
    return original(module, args, nargs, kwnames);
}

/* _excepthook(args): a kill ends a thread in silence, and an interrupt from the keyboard is for
 * the main tasklet. */
static PyObject *excepthook(PyObject *module, PyObject *args)
{
    s_tasklet *t = bind_patch_thread();
    if (t == NULL || !PyTuple_Check(args) || PyTuple_GET_SIZE(args) < 2)
        return stock[HOOK](module, args);
    PyObject *exception = PyTuple_GET_ITEM(args, 1);
    int interrupt = PyErr_GivenExceptionMatches(exception, PyExc_KeyboardInterrupt);
    if (!interrupt && !s_hook.is_exit(exception))
        return stock[HOOK](module, args);
    if (interrupt)
        s_raise_in(t->owner, t->owner->main, Py_NewRef(exception));
    Py_RETURN_NONE;
}

/* ---- starting ------------------------------------------------------------------------------- */

static int loop_runs(void)
{
    static PyObject *kept, *name;
    PyObject *module = c_interned_name(&name, "_asyncio") ? PyImport_GetModule(name) : NULL;
    PyObject *get = module ? c_get_attribute(module, &kept, "_get_running_loop") : NULL;
    PyObject *loop = get ? PyObject_CallNoArgs(get) : NULL;
    int runs = loop != NULL && loop != Py_None;
    Py_XDECREF(loop);
    Py_XDECREF(get);
    Py_XDECREF(module);
    PyErr_Clear();
    return runs;
}

/* The scheduler in which a thread that is started now is a tasklet; NULL: it is a real one. */
static s_sched *host(void)
{
    s_sched *s;
    if (!bind_is_ours(&s) || s == NULL || !s->running || s->ending || c_is_finalizing())
        return NULL;
    return loop_runs() ? NULL : s;
}

/* A call with keywords as one without. */
static PyObject *with_keywords(PyObject *function, PyObject *args, PyObject *kwargs)
{
    PyObject *functools = PyImport_ImportModule("functools");
    PyObject *partial = functools ? PyObject_GetAttrString(functools, "partial") : NULL;
    PyObject *all = partial ? PyTuple_New(PyTuple_GET_SIZE(args) + 1) : NULL;
    PyObject *call = NULL;
    if (all != NULL) {
        PyTuple_SET_ITEM(all, 0, Py_NewRef(function));
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
            PyTuple_SET_ITEM(all, i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
        call = PyObject_Call(partial, all, kwargs);
    }
    Py_XDECREF(all);
    Py_XDECREF(partial);
    Py_XDECREF(functools);
    return call;
}

/* A Thread gives the tasklet its name. */
static void name_it(s_tasklet *t, PyObject *function)
{
    static PyObject *kept;
    if (!PyMethod_Check(function))
        return;
    PyObject *name = c_get_attribute(PyMethod_GET_SELF(function), &kept, "name");
    if (name != NULL && PyUnicode_Check(name))
        Py_XSETREF(t->name, Py_NewRef(name));
    Py_XDECREF(name);
    PyErr_Clear();
}

/* A lock that is held until the tasklet has ended: 0, or -1 with an exception. */
static int give_end(PyObject *module, s_tasklet *t)
{
    PyObject *lock = PyObject_CallMethod(module, "allocate_lock", NULL);
    s_identity *own = lock != NULL && c_builtin_lock_try(lock) > 0 ? s_identity_make(t) : NULL;
    if (own == NULL) {
        Py_XDECREF(lock);
        return -1;
    }
    own->end = lock;
    return 0;
}

static s_tasklet *new_thread(s_sched *s, PyObject *module, PyObject *function, PyObject *args)
{
    s_tasklet *t = (s_tasklet *)bind_tasklet_type.tp_alloc(&bind_tasklet_type, 0);
    int code = t != NULL ? s_tasklet_init(s, t, function, args, NULL) : S_E_SET;
    if (code < 0 || give_end(module, t) < 0) {
        if (code < 0)
            bind_fail(code, NULL);
        Py_XDECREF((PyObject *)t);
        return NULL;
    }
    Py_CLEAR(t->c.context);
    name_it(t, function);
    return t;
}

/* From now on it is a thread, and runs. */
static void let_run(s_sched *s, s_tasklet *t)
{
    t->identity->is_thread = 1;
    __atomic_add_fetch(&alive, 1, __ATOMIC_RELAXED);
    s_ready(s, t);
}

/* start_new_thread(function, args[, kwargs]) */
static PyObject *start_as(int which, PyObject *module, PyObject *all)
{
    PyObject *function, *args, *kwargs = NULL;
    s_sched *s = host();
    if (s == NULL || !PyArg_UnpackTuple(all, "start_new_thread", 2, 3, &function, &args, &kwargs) ||
        !PyCallable_Check(function) || !PyTuple_Check(args) ||
        (kwargs != NULL && !PyDict_Check(kwargs))) {
        PyErr_Clear();
        return stock[which](module, all);
    }
    if (PySys_Audit("_thread.start_new_thread", "OOO", function, args, kwargs ? kwargs : Py_None) <
        0)
        return NULL;
    int simple = kwargs == NULL || PyDict_GET_SIZE(kwargs) == 0;
    PyObject *none = simple ? NULL : PyTuple_New(0);
    PyObject *call = simple ? Py_NewRef(function) : with_keywords(function, args, kwargs);
    s_tasklet *t =
        call && (simple || none) ? new_thread(s, module, call, simple ? args : none) : NULL;
    Py_XDECREF(call);
    Py_XDECREF(none);
    if (t == NULL)
        return NULL;
    PyObject *ident = Py_NewRef(t->identity->key);
    let_run(s, t);
    return ident;
}

static PyObject *start(PyObject *module, PyObject *all)
{
    return start_as(START, module, all);
}

static PyObject *start_old(PyObject *module, PyObject *all)
{
    return start_as(START_OLD, module, all);
}

/* Whether a thread was started with that handle: it can be joined then. */
static int is_used(PyObject *handle)
{
    PyObject *joined = PyObject_CallMethod(handle, "join", "i", 0);
    Py_XDECREF(joined);
    PyErr_Clear();
    return joined != NULL;
}

/* The handle is the tasklet's from now on. */
static int give_handle(s_tasklet *t, PyObject *handle)
{
    if (c_thread_handle_set_running(handle, t->identity->key) < 0 ||
        PyDict_SetItem(ends, t->identity->key, t->identity->end) < 0)
        return -1;
    t->identity->handle = Py_NewRef(handle);
    return 0;
}

/* start_joinable_thread(function, handle=None, daemon=True) */
static PyObject *start_joinable(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "handle", "daemon", NULL};
    PyObject *function, *handle = Py_None, *daemon = Py_True;
    PyCFunctionWithKeywords original = (PyCFunctionWithKeywords)(void (*)(void))stock[JOINABLE];
    s_sched *s = host();
    if (s == NULL ||
        !PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO", names, &function, &handle, &daemon) ||
        !PyCallable_Check(function) ||
        (handle != Py_None && (!Py_IS_TYPE(handle, c_thread_handle_type) || is_used(handle)))) {
        PyErr_Clear();
        return original(module, args, kwargs);
    }
    if (PySys_Audit("_thread.start_joinable_thread", "OiO", function, PyObject_IsTrue(daemon),
                    handle) < 0)
        return NULL;
    handle = handle != Py_None ? Py_NewRef(handle)
                               : PyObject_CallNoArgs((PyObject *)c_thread_handle_type);
    PyObject *none = handle ? PyTuple_New(0) : NULL;
    s_tasklet *t = none ? new_thread(s, module, function, none) : NULL;
    Py_XDECREF(none);
    if (t == NULL || give_handle(t, handle) < 0) {
        Py_XDECREF((PyObject *)t);
        Py_XDECREF(handle);
        return NULL;
    }
    let_run(s, t);
    return handle;
}

/* ---- the end ------------------------------------------------------------------------- */

PyObject *bind_thread_end(PyObject *handle)
{
    static PyObject *name;
    if (__atomic_load_n(&alive, __ATOMIC_RELAXED) == 0)
        return NULL;
    PyObject *ident = c_get_attribute(handle, &name, "ident");
    PyObject *lock = ident ? Py_XNewRef(PyDict_GetItemWithError(ends, ident)) : NULL;
    Py_XDECREF(ident);
    if (lock == NULL)
        PyErr_Clear();
    return lock;
}

static void call_quietly(PyObject *object, const char *method)
{
    PyObject *done = PyObject_CallMethod(object, method, NULL);
    if (done == NULL)
        PyErr_WriteUnraisable(object);
    Py_XDECREF(done);
}

/* current_thread() has made an object for what no Thread had started. */
static void forget_dummy(PyObject *key)
{
    static PyObject *name, *kept;
    PyObject *threading = c_interned_name(&name, "threading") ? PyImport_GetModule(name) : NULL;
    PyObject *active = threading ? c_get_attribute(threading, &kept, "_active") : NULL;
    if (active != NULL && PyDict_CheckExact(active))
        PyDict_DelItem(active, key);
    Py_XDECREF(active);
    Py_XDECREF(threading);
    PyErr_Clear();
}

/* The only thread of a child has ended, as a thread does: without the end of the interpreter. */
static void end_child(void)
{
    PyObject *os = PyImport_ImportModule("os");
    PyObject *done = os ? PyObject_CallMethod(os, "_exit", "i", 0) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(os);
}

void bind_thread_leaves(s_identity *own)
{
    if (own == forked)
        end_child();
    __atomic_sub_fetch(&alive, 1, __ATOMIC_RELAXED);
    forget_dummy(own->key);
    if (own->handle != NULL) {
        call_quietly(own->handle, "_set_done");
        PyDict_DelItem(ends, own->key);
        PyErr_Clear();
    }
    call_quietly(own->end, "release");
}

/* ---- fork -------------------------------------------------------------------------------- */

void bind_threads_after_fork(void)
{
    s_sched *s = s_self_;
    s_tasklet **found = NULL, *me = s != NULL ? s->current : NULL;
    if (s == NULL || alive == 0)
        return;
    Py_ssize_t count = s_tasklets(s, &found);
    forked = s_is_thread(me) ? me->identity : NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        s_tasklet *t = found[i];
        if (t != me && (forked != NULL || s_is_thread(t)))
            s_retire(s, t);
        if (t != me && s_is_thread(t))
            alive--;
        Py_DECREF((PyObject *)t);
    }
    if (forked != NULL)
        s_retire(s, s->main);
    PyMem_RawFree(found);
}

/* ---- who is a thread ----------------------------------------------------------------- */

static int add_thread(PyObject *idents, const s_tasklet *t)
{
    return s_is_thread(t) ? PyList_Append(idents, t->identity->key) : 0;
}

/* _threads(): the idents of the calling thread's tasklets that are threads. */
static PyObject *threads(PyObject *module, PyObject *unused)
{
    s_tasklet **found = NULL;
    (void)module, (void)unused;
    PyObject *idents = PyList_New(0);
    if (idents == NULL || s_self_ == NULL || __atomic_load_n(&alive, __ATOMIC_RELAXED) == 0)
        return idents;
    Py_ssize_t count = s_tasklets(s_self_, &found);
    if (count < 0) {
        Py_DECREF(idents);
        return bind_fail((int)count, NULL);
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (idents != NULL && add_thread(idents, found[i]) < 0)
            Py_CLEAR(idents);
        Py_DECREF((PyObject *)found[i]);
    }
    PyMem_RawFree(found);
    return idents;
}

/* _tasklet_name(): that of the running tasklet, also in a thread that has none. */
static PyObject *tasklet_name(PyObject *module, PyObject *unused)
{
    static PyObject *name;
    s_tasklet *t = bind_patch_tasklet();
    (void)module, (void)unused;
    if (t == NULL && s_self_ != NULL)
        t = s_self_->main;
    return t ? c_get_attribute((PyObject *)t, &name, "name") : PyUnicode_InternFromString("main");
}

/* ---- putting it together ---------------------------------------------------------------- */

static const struct {
    const char *name;
    int flags;
    PyCFunction function;
} functions[FUNCTIONS] = {
    [IDENT] = {"get_ident", METH_NOARGS, get_ident},
    [START] = {"start_new_thread", METH_VARARGS, start},
    [START_OLD] = {"start_new", METH_VARARGS, start_old},
    [JOINABLE] = {"start_joinable_thread", METH_VARARGS | METH_KEYWORDS, BIND_FN(start_joinable)},
    [SENTINEL] = {"_set_sentinel", METH_NOARGS, set_sentinel},
    [HOOK] = {"_excepthook", METH_O, excepthook},
    [NAME] = {"set_name", METH_FASTCALL | METH_KEYWORDS, BIND_FN(set_name)},
};

static int is_start(int which)
{
    return which == START || which == START_OLD || which == JOINABLE;
}

/* Exchanges one function of _thread, if there is one of that name: 0, or -1 with an exception. */
static int exchange(PyObject *module, int which, int install)
{
    PyObject *function = PyObject_GetAttrString(module, functions[which].name);
    if (function == NULL) {
        PyErr_Clear();
        return 0;
    }
    if (install && PyCFunction_Check(function))
        stock[which] = PyCFunction_GET_FUNCTION(function);
    PyCFunction next = install ? functions[which].function : stock[which];
    PyCFunction original = c_function_swap(function, functions[which].flags, next);
    if (install && original == NULL)
        PyErr_Format(PyExc_RuntimeError,
                     "expected the interpreter's own function _thread.%s, found %R; loomlet cannot "
                     "run threads as tasklets here",
                     functions[which].name, function);
    Py_DECREF(function);
    return install && original == NULL ? -1 : 0;
}

static int exchange_all(int install)
{
    static int exchanged[FUNCTIONS];
    PyObject *module = PyImport_ImportModule("_thread");
    int code = module != NULL ? 0 : -1;
    for (int i = 0; code == 0 && i < FUNCTIONS; i++) {
        if (exchanged[i] == install || (!install && !is_start(i)))
            continue;
        code = exchange(module, i, install);
        exchanged[i] = code == 0 && install;
    }
    Py_XDECREF(module);
    return code;
}

static int exchange_threads(int install)
{
    if (!install)
        return exchange_all(0);
    if (ends == NULL && (ends = PyDict_New()) == NULL)
        return -1;
    return c_thread_handle_find() < 0 ? -1 : exchange_all(1);
}

/* _patch_threads(sentinel) or _patch_threads(None): whether threads are tasklets. */
static PyObject *patch_threads(PyObject *module, PyObject *wanted)
{
    (void)module;
    if (wanted != Py_None)
        Py_XSETREF(sentinel, Py_NewRef(wanted));
    return exchange_threads(wanted != Py_None) < 0 ? NULL : Py_NewRef(Py_None);
}

PyMethodDef bind_thread_functions[] = {
    {"_patch_threads", patch_threads, METH_O, NULL},
    {"_keep_local", bind_keep_local, METH_O, NULL},
    {"_threads", threads, METH_NOARGS, NULL},
    {"_tasklet_name", tasklet_name, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
