/* Threads that are tasklets: threading.Thread and all that is built on it.
 *
 * Inside loomlet.run() the C functions that start a thread make a tasklet of the calling thread's
 * scheduler instead, which to all other code is a thread: it has an ident of its own (which no
 * thread of the system has), an empty contextvars context, a handle (3.13 on) or a lock (before)
 * that shows its end, values of threading.local, and exceptions that go to sys.unraisablehook.
 * threading keeps its books of it in Python, with locks that know tasklets already.  A tasklet that
 * was spawned is no thread: it is a part of the one that it runs in.
 *
 * The end.  A joiner waits for a lock, which is released last.
 *
 * Threads of the system are started outside run(), because no scheduler would run them there; in
 * other interpreters; and by code of a running event loop of asyncio, which hands to threads what
 * would block the loop.
 *
 * After uninstall() threads that run stay what they are: what says who they are stays ours.
 *
 * Fork.  In the child there is only the thread that has forked.  The others do not run there, nor
 * do their `finally` blocks.  If it is itself a tasklet, the others are main and all other tasklets
 * too, and the process ends with it.
 */
#include "patch/thread.h"

#include "cpython/builtin_lock.h"
#include "cpython/builtin_thread.h"
#include "sched/carrier.h"
#include "sched/guests/preempt.h"
#include "sync/builtin_lock.h"

#define PAUSE_FIRST 500000
#define PAUSE_LONGEST 20000000

patch_handle_methods patch_handle_originals;

static PyObject *end_locks;        /* of threads with a handle, by their keys */
static Py_ssize_t alive;           /* threads that are tasklets */
static s_identity *forking_thread; /* in the child of a fork: that of the thread that has forked */

s_tasklet *patch_thread(void)
{
    s_tasklet *t = patch_tasklet();
    return t != NULL && s_is_thread(t) ? t : NULL;
}

/* ---- starting ------------------------------------------------------------------------------- */

int patch_event_loop_running(void)
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

s_sched *patch_thread_scheduler(void)
{
    s_sched *s;
    if (!patch_in_our_interpreter(&s) || s == NULL || !s->running || s->ending || c_is_finalizing())
        return NULL;
    return c_trace_running(s->ts) || patch_event_loop_running() ? NULL : s;
}

/* What a debugger calls in a new thread has the function of the program as an attribute. */
static PyObject *find_thread_method(PyObject *function)
{
    static PyObject *kept;
    PyObject *called =
        PyMethod_Check(function) ? NULL : c_get_attribute(function, &kept, "original_func");
    PyErr_Clear();
    return called != NULL ? called : Py_NewRef(function);
}

/* Its threads serve the debugger while the thread of the tasklets is stopped. */
int patch_thread_is_of_debugger(PyObject *function)
{
    static PyObject *kept;
    PyObject *called = find_thread_method(function);
    PyObject *mark = PyMethod_Check(called) ? c_get_attribute(PyMethod_GET_SELF(called), &kept,
                                                              "is_pydev_daemon_thread")
                                            : NULL;
    PyErr_Clear();
    int hidden = mark != NULL && PyObject_IsTrue(mark) > 0;
    PyErr_Clear();
    Py_XDECREF(mark);
    Py_DECREF(called);
    return hidden;
}

/* functools.partial(function, *args, **kwargs) */
static PyObject *make_partial(PyObject *function, PyObject *args, PyObject *kwargs)
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

/* The tasklet gets the name of the Thread whose method it calls. */
static void name_after_thread(s_tasklet *t, PyObject *function)
{
    static PyObject *kept;
    PyObject *called = find_thread_method(function);
    PyObject *name =
        PyMethod_Check(called) ? c_get_attribute(PyMethod_GET_SELF(called), &kept, "name") : NULL;
    Py_DECREF(called);
    if (name != NULL && PyUnicode_Check(name))
        Py_XSETREF(t->name, Py_NewRef(name));
    Py_XDECREF(name);
    PyErr_Clear();
}

/* Makes the lock that is held until the tasklet has ended: 0 or -1. */
static int make_end_lock(PyObject *module, s_tasklet *t)
{
    PyObject *lock = PyObject_CallMethod(module, "allocate_lock", NULL);
    s_identity *identity =
        lock != NULL && c_builtin_lock_try(lock) > 0 ? s_identity_make_thread(t) : NULL;
    if (identity == NULL) {
        Py_XDECREF(lock);
        return -1;
    }
    identity->end = lock;
    return 0;
}

static s_tasklet *new_thread(s_sched *s, PyObject *module, PyObject *function, PyObject *args)
{
    s_tasklet *t = (s_tasklet *)s_hook.type->tp_alloc(s_hook.type, 0);
    int code = t != NULL ? s_tasklet_init(s, t, function, args, NULL) : S_E_SET;
    if (code < 0 || make_end_lock(module, t) < 0) {
        patch_raise(s, code);
        Py_XDECREF((PyObject *)t);
        return NULL;
    }
    Py_CLEAR(t->c.context);
    name_after_thread(t, function);
    return t;
}

/* Whether what starts it waits for it, and it says by a lock that it runs: Thread._bootstrap(). */
static int is_waited_for(const PyObject *function)
{
    static PyObject *names[3];
    PyObject *class = NULL, *begin = NULL;
    PyObject *name = c_interned_name(&names[0], "threading");
    PyObject *module = name != NULL ? PyImport_GetModule(name) : NULL;
    if (module != NULL)
        class = c_get_attribute(module, &names[1], "Thread");
    if (class != NULL)
        begin = c_get_attribute(class, &names[2], "_bootstrap");
    PyErr_Clear();
    Py_XDECREF(module);
    Py_XDECREF(class);
    Py_XDECREF(begin);
    return begin != NULL && begin == function;
}

/* From now on it is a thread, and runs. */
static void start_thread(s_sched *s, s_tasklet *t, int daemon)
{
    t->identity->is_thread = 1;
    t->daemon = daemon != 0;
    __atomic_add_fetch(&alive, 1, __ATOMIC_RELAXED);
    s_ready(s, t);
    if (s_has_slices(s) && is_waited_for(t->func))
        s_begin_apart(s, t);
    else
        s_set_apart(s, t);
}

PyObject *patch_thread_start(s_sched *s, PyObject *module, PyObject *function, PyObject *args,
                             PyObject *kwargs)
{
    int simple = kwargs == NULL || PyDict_GET_SIZE(kwargs) == 0;
    PyObject *left = simple ? Py_NewRef(args) : PyTuple_New(0);
    PyObject *call = simple ? Py_NewRef(function) : make_partial(function, args, kwargs);
    s_tasklet *t = call && left ? new_thread(s, module, call, left) : NULL;
    Py_XDECREF(call);
    Py_XDECREF(left);
    if (t == NULL)
        return NULL;
    PyObject *ident = Py_NewRef(t->identity->key);
    start_thread(s, t, 1);
    return ident;
}

/* The handle is the tasklet's from now on. */
static int assign_handle(s_tasklet *t, PyObject *handle)
{
    if (c_thread_handle_set_running(handle, t->identity->key) < 0 ||
        PyDict_SetItem(end_locks, t->identity->key, t->identity->end) < 0)
        return -1;
    t->identity->handle = Py_NewRef(handle);
    return 0;
}

PyObject *patch_thread_start_joinable(s_sched *s, PyObject *module, PyObject *function,
                                      PyObject *handle, int daemon)
{
    handle = handle != Py_None ? Py_NewRef(handle)
                               : PyObject_CallNoArgs((PyObject *)c_thread_handle_type);
    PyObject *none = handle ? PyTuple_New(0) : NULL;
    s_tasklet *t = none ? new_thread(s, module, function, none) : NULL;
    Py_XDECREF(none);
    if (t == NULL || assign_handle(t, handle) < 0) {
        Py_XDECREF((PyObject *)t);
        Py_XDECREF(handle);
        return NULL;
    }
    start_thread(s, t, daemon);
    return handle;
}

/* ---- the end ------------------------------------------------------------------------- */

/* A kill ends a thread silently, and an interrupt from the keyboard is for the main tasklet. */
int patch_thread_ends_silently(s_tasklet *t, PyObject *exception)
{
    int interrupt = PyErr_GivenExceptionMatches(exception, PyExc_KeyboardInterrupt);
    if (interrupt)
        s_raise_in(t->owner, t->owner->main, Py_NewRef(exception));
    return interrupt || s_hook.is_exit(exception);
}

static void call_or_report(PyObject *object, const char *method)
{
    PyObject *done = PyObject_CallMethod(object, method, NULL);
    if (done == NULL)
        PyErr_WriteUnraisable(object);
    Py_XDECREF(done);
}

/* current_thread() has made an object for a thread that no Thread had started. */
static void forget_dummy_thread(PyObject *key)
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
static void exit_child_process(void)
{
    PyObject *os = PyImport_ImportModule("os");
    PyObject *done = os ? PyObject_CallMethod(os, "_exit", "i", 0) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(os);
}

static void end_thread(s_identity *identity)
{
    if (identity == forking_thread)
        exit_child_process();
    __atomic_sub_fetch(&alive, 1, __ATOMIC_RELAXED);
    forget_dummy_thread(identity->key);
    if (identity->handle != NULL) {
        call_or_report(identity->handle, "_set_done");
        PyDict_DelItem(end_locks, identity->key);
        PyErr_Clear();
    }
    call_or_report(identity->end, "release");
}

/* A tasklet with a thread identity has ended, or will not run again. */
static void release_identity(s_tasklet *t)
{
    patch_local_release(t->identity);
    if (t->identity->is_thread)
        end_thread(t->identity);
}

void patch_identities_init(void)
{
    s_identity_dropped = release_identity;
}

/* ---- joining ------------------------------------------------------------------------------- */

/* Its ident may be another's by now. */
static int is_handle_done(PyObject *handle)
{
    PyObject *done = patch_handle_originals.is_done(handle, NULL);
    Py_XDECREF(done);
    return done == Py_True;
}

/* The lock that is held until the thread of that handle has ended, if it is a tasklet: new; or
 * NULL without an exception. */
static PyObject *end_lock_of(PyObject *handle)
{
    static PyObject *name;
    if (__atomic_load_n(&alive, __ATOMIC_RELAXED) == 0 || is_handle_done(handle))
        return NULL;
    PyObject *ident = c_get_attribute(handle, &name, "ident");
    PyObject *lock = ident ? Py_XNewRef(PyDict_GetItemWithError(end_locks, ident)) : NULL;
    Py_XDECREF(ident);
    if (lock == NULL)
        PyErr_Clear();
    return lock;
}

/* Of a thread that is a tasklet: the lock is passed on to the next that joins it. */
static PyObject *join_tasklet_thread(s_sched *s, PyObject *end, int64_t timeout)
{
    int code;
    PyObject *ended = y_builtin_lock_acquire(s, end, timeout, NULL, &code);
    if (ended == NULL)
        return patch_raise(s, code);
    PyObject *passed = ended == Py_True ? y_builtin_lock_release(s, end) : Py_NewRef(Py_None);
    if (passed == NULL)
        Py_CLEAR(ended);
    Py_XDECREF(passed);
    return ended;
}

/* Of a thread of the system, whose end sends no notification: polls now and then, while others run.
 */
static PyObject *join_system_thread(s_sched *s, PyObject *handle, int64_t timeout)
{
    int64_t until = patch_deadline(s, timeout), pause = PAUSE_FIRST;
    for (;;) {
        PyObject *ended = patch_handle_originals.is_done(handle, NULL);
        int64_t left = until - s_now(s);
        if (ended != Py_False || left <= 0)
            return ended;
        Py_DECREF(ended);
        if (patch_pause(s, left < pause ? left : pause) < 0)
            return NULL;
        pause = pause * 2 < PAUSE_LONGEST ? pause * 2 : PAUSE_LONGEST;
    }
}

/* join() with a timeout of 0, which waits for nothing: the original says what is wrong. */
static int check_join(PyObject *handle)
{
    PyObject *args = Py_BuildValue("(i)", 0);
    PyObject *done = args ? patch_handle_originals.join(handle, args) : NULL;
    Py_XDECREF(args);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

/* A thread that joins itself never ends: refused as the original refuses it. */
static int is_own_end(PyObject *end)
{
    s_tasklet *me = patch_thread();
    if (end == NULL || me == NULL || me->identity->end != end)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "Cannot join current thread");
    return 1;
}

PyObject *patch_thread_join(s_sched *s, PyObject *handle, PyObject *args, int64_t timeout)
{
    if (check_join(handle) < 0)
        return NULL;
    s_meet_again();
    PyObject *end = end_lock_of(handle);
    if (is_own_end(end)) {
        Py_DECREF(end);
        return NULL;
    }
    PyObject *ended =
        end ? join_tasklet_thread(s, end, timeout) : join_system_thread(s, handle, timeout);
    Py_XDECREF(end);
    if (ended == NULL)
        return NULL;
    Py_DECREF(ended);
    s_leave_operation();
    return ended == Py_True ? patch_handle_originals.join(handle, args) : Py_NewRef(Py_None);
}

Py_ssize_t patch_thread_count(void)
{
    return __atomic_load_n(&alive, __ATOMIC_RELAXED);
}

/* ---- installing, and forks ------------------------------------------------------------------- */

int patch_threads_prepare(void)
{
    if (end_locks == NULL && (end_locks = PyDict_New()) == NULL)
        return -1;
    return c_thread_handle_find();
}

void patch_threads_after_fork(void)
{
    s_sched *s = s_self_here();
    s_tasklet **found = NULL, *me = s != NULL ? s->current : NULL;
    if (s == NULL || alive == 0)
        return;
    Py_ssize_t count = s_tasklets(s, &found);
    forking_thread = s_is_thread(me) ? me->identity : NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        s_tasklet *t = found[i];
        if (t != me && (forking_thread != NULL || s_is_thread(t)))
            s_retire(s, t);
        if (t != me && s_is_thread(t))
            alive--;
        Py_DECREF((PyObject *)t);
    }
    if (forking_thread != NULL)
        s_retire(s, s->main);
    PyMem_RawFree(found);
}
