/* The functions of _thread that start threads and tell them apart: their arguments, and installing.
 *
 * What they do is in patch/thread.c.  They are replaced in their definitions, with the same flags:
 * names that modules have bound before (threading._start_new_thread) lead to the same object.
 * sqlite3 compares threads in C: what it imports for that is replaced by ours.
 * uninstall() restores only those that start threads, because threads that run stay what they are.
 */
#include "patch/thread.h"

#include "bind/patch/patch.h"
#include "cpython/builtin_thread.h"
#include "sched/carrier.h"

static PyObject *sentinel; /* makes what threading waits for of a thread's lock (3.11, 3.12) */

enum { IDENT, COUNT, START, START_OLD, JOINABLE, SENTINEL, HOOK, NAME, FUNCTIONS };
static PyCFunction originals[FUNCTIONS];

/* ---- who is a thread ----------------------------------------------------------------------- */

static PyObject *thread_get_ident(PyObject *module, PyObject *unused)
{
    s_tasklet *t = patch_thread();
    return t != NULL ? Py_NewRef(t->identity->key) : originals[IDENT](module, unused);
}

/* _count() */
static PyObject *thread_count(PyObject *module, PyObject *unused)
{
    PyObject *system = originals[COUNT](module, unused);
    PyObject *ours = system ? PyLong_FromSsize_t(patch_thread_count()) : NULL;
    PyObject *all = ours ? PyNumber_Add(system, ours) : NULL;
    Py_XDECREF(system);
    Py_XDECREF(ours);
    return all;
}

/* _set_sentinel(): the lock that threading waits for (3.11, 3.12). */
static PyObject *thread_set_sentinel(PyObject *module, PyObject *unused)
{
    s_tasklet *t = patch_thread();
    if (t == NULL)
        return originals[SENTINEL](module, unused);
    return PyObject_CallOneArg(sentinel, t->identity->end);
}

/* set_name() names the thread of the system, which is another one. */
static PyObject *thread_set_name(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *kwnames)
{
    if (patch_thread() != NULL)
        Py_RETURN_NONE;
    return ((patch_keyword_call)(void (*)(void))originals[NAME])(module, args, nargs, kwnames);
}

/* _excepthook(args): args[1] is the exception that has ended the thread. */
static PyObject *thread_excepthook(PyObject *module, PyObject *args)
{
    s_tasklet *t = patch_thread();
    if (t == NULL || !PyTuple_Check(args) || PyTuple_GET_SIZE(args) < 2 ||
        !patch_thread_ends_silently(t, PyTuple_GET_ITEM(args, 1)))
        return originals[HOOK](module, args);
    Py_RETURN_NONE;
}

static PyCFunction frames_original, exceptions_original;

/* sys._current_frames(): what dumps and error reporters show of threads. */
static PyObject *thread_frames(PyObject *module, PyObject *unused)
{
    PyObject *frames = frames_original(module, unused);
    if (frames != NULL && patch_thread_add_frames(frames) < 0)
        Py_CLEAR(frames);
    return frames;
}

/* sys._current_exceptions(): what they show of exceptions. */
static PyObject *thread_exceptions(PyObject *module, PyObject *unused)
{
    PyObject *exceptions = exceptions_original(module, unused);
    if (exceptions != NULL && patch_thread_add_errors(exceptions) < 0)
        Py_CLEAR(exceptions);
    return exceptions;
}

/* _raise_in_thread(): the address of a function with the arguments of PyThreadState_SetAsyncExc. */
static PyObject *raise_in_thread(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromVoidPtr((void *)(uintptr_t)patch_thread_raise);
}

static PyCFunction sigmask_original;

/* The same for those that are not: what main blocks is blocked wherever its scheduler goes. */
static PyObject *share_sigmask(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *before = ((patch_fast_call)(void (*)(void))sigmask_original)(module, args, nargs);
    s_sched *s = s_self_if_any();
    if (s != NULL)
        s_share_blocked_signals(s);
    return before;
}

/* signal.pthread_sigmask(how, mask): what a thread blocks for itself must stay open for the thread
 * of the system, which is that of all the others too.  Returns what is blocked there. */
static PyObject *thread_sigmask(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    patch_fast_call original = (patch_fast_call)(void (*)(void))sigmask_original;
    if (patch_thread() == NULL || nargs != 2 || !PyLong_Check(args[0]))
        return share_sigmask(module, args, nargs);
    PyObject *numbers = PySequence_Fast(args[1], "expected an iterable of signals");
    PyObject *none = numbers ? PyTuple_New(0) : NULL;
    PyObject *block = none ? PyObject_GetAttrString(module, "SIG_BLOCK") : NULL;
    PyObject *unchanged[2] = {block, none};
    PyObject *mask = block ? original(module, unchanged, 2) : NULL;
    Py_XDECREF(block);
    Py_XDECREF(none);
    Py_XDECREF(numbers);
    return mask;
}

static PyCFunction trace_all_original, profile_all_original;

/* sys._settraceallthreads(function), sys._setprofileallthreads(function) (3.12 on) */
static PyObject *set_trace_in_all(PyCFunction original, PyObject *module, PyObject *function,
                                  int which)
{
    PyObject *done = original(module, function);
    if (done != NULL && patch_threads_set_trace(which, function) < 0)
        Py_CLEAR(done);
    return done;
}

static PyObject *thread_trace_all(PyObject *module, PyObject *function)
{
    return set_trace_in_all(trace_all_original, module, function, C_TRACE);
}

static PyObject *thread_profile_all(PyObject *module, PyObject *function)
{
    return set_trace_in_all(profile_all_original, module, function, C_PROFILE);
}

/* Once: threads that are tasklets may exist after uninstall(). */
static void replace_once(PyObject *function, int flags, PyCFunction replacement, PyCFunction *kept)
{
    if (*kept != NULL || function == NULL || !PyCFunction_Check(function))
        return;
    *kept = PyCFunction_GET_FUNCTION(function);
    if (c_function_swap(function, flags, replacement) == NULL)
        *kept = NULL;
}

static void replace_in_other_modules(void)
{
    PyObject *module = PyImport_ImportModule("_signal");
    PyObject *sigmask = module ? PyObject_GetAttrString(module, "pthread_sigmask") : NULL;
    PyErr_Clear();
    replace_once(PySys_GetObject("_current_frames"), METH_NOARGS, thread_frames, &frames_original);
    replace_once(PySys_GetObject("_current_exceptions"), METH_NOARGS, thread_exceptions,
                 &exceptions_original);
    replace_once(PySys_GetObject("_settraceallthreads"), METH_O, thread_trace_all,
                 &trace_all_original);
    replace_once(PySys_GetObject("_setprofileallthreads"), METH_O, thread_profile_all,
                 &profile_all_original);
    replace_once(sigmask, METH_FASTCALL, BIND_FN(thread_sigmask), &sigmask_original);
    Py_XDECREF(sigmask);
    Py_XDECREF(module);
}

/* ---- starting ------------------------------------------------------------------------------- */

/* start_new_thread(function, args[, kwargs]) */
static PyObject *start_by(int which, PyObject *module, PyObject *all)
{
    PyObject *function, *args, *kwargs = NULL;
    s_sched *s = patch_thread_scheduler();
    if (s == NULL || !PyArg_UnpackTuple(all, "start_new_thread", 2, 3, &function, &args, &kwargs) ||
        !PyCallable_Check(function) || patch_thread_is_of_debugger(function) ||
        !PyTuple_Check(args) || (kwargs != NULL && !PyDict_Check(kwargs))) {
        PyErr_Clear();
        return originals[which](module, all);
    }
    if (PySys_Audit("_thread.start_new_thread", "OOO", function, args, kwargs ? kwargs : Py_None) <
        0)
        return NULL;
    return patch_thread_start(s, module, function, args, kwargs);
}

static PyObject *thread_start(PyObject *module, PyObject *all)
{
    return start_by(START, module, all);
}

static PyObject *thread_start_old(PyObject *module, PyObject *all)
{
    return start_by(START_OLD, module, all);
}

/* Whether a thread was started with that handle: it can be joined then. */
static int is_used_handle(PyObject *handle)
{
    PyObject *joined = PyObject_CallMethod(handle, "join", "i", 0);
    Py_XDECREF(joined);
    PyErr_Clear();
    return joined != NULL;
}

/* start_joinable_thread(function, handle=None, daemon=True) */
static PyObject *thread_start_joinable(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "handle", "daemon", NULL};
    PyObject *function, *handle = Py_None, *daemon = Py_True;
    PyCFunctionWithKeywords original = (PyCFunctionWithKeywords)(void (*)(void))originals[JOINABLE];
    s_sched *s = patch_thread_scheduler();
    if (s == NULL ||
        !PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO", names, &function, &handle, &daemon) ||
        !PyCallable_Check(function) || patch_thread_is_of_debugger(function) ||
        (handle != Py_None &&
         (!Py_IS_TYPE(handle, c_thread_handle_type) || is_used_handle(handle)))) {
        PyErr_Clear();
        return original(module, args, kwargs);
    }
    int is_daemon = PyObject_IsTrue(daemon);
    if (is_daemon < 0 ||
        PySys_Audit("_thread.start_joinable_thread", "OiO", function, is_daemon, handle) < 0)
        return NULL;
    return patch_thread_start_joinable(s, module, function, handle, is_daemon);
}

/* ---- what loomlet asks ---------------------------------------------------------------------- */

/* _threads(): the idents of the calling thread's tasklets that are threads. */
static PyObject *thread_idents(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return patch_thread_idents();
}

/* _tasklet_name(): that of the running tasklet, also in a thread that has none. */
static PyObject *tasklet_name(PyObject *module, PyObject *unused)
{
    static PyObject *name;
    s_tasklet *t = patch_tasklet();
    const s_sched *s = s_self_if_any();
    (void)module, (void)unused;
    if (t == NULL && s != NULL)
        t = s->main;
    return t ? c_get_attribute((PyObject *)t, &name, "name") : PyUnicode_InternFromString("main");
}

/* _context_number(): one that tells tasklets, which have odd ones, and threads apart. */
static PyObject *context_number(PyObject *module, PyObject *unused)
{
    const s_tasklet *t = patch_tasklet();
    (void)module, (void)unused;
    return PyLong_FromUnsignedLongLong(t != NULL ? s_identity_number(t) : s_home_ident());
}

/* _keep_local(type): values in locals of that type stay the thread's. */
static PyObject *keep_local(PyObject *module, PyObject *type)
{
    (void)module;
    patch_local_exclude(type);
    Py_RETURN_NONE;
}

/* ---- installing ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int flags;
    PyCFunction function;
} functions[FUNCTIONS] = {
    [IDENT] = {"get_ident", METH_NOARGS, thread_get_ident},
    [COUNT] = {"_count", METH_NOARGS, thread_count},
    [START] = {"start_new_thread", METH_VARARGS, thread_start},
    [START_OLD] = {"start_new", METH_VARARGS, thread_start_old},
    [JOINABLE] = {"start_joinable_thread", METH_VARARGS | METH_KEYWORDS,
                  BIND_FN(thread_start_joinable)},
    [SENTINEL] = {"_set_sentinel", METH_NOARGS, thread_set_sentinel},
    [HOOK] = {"_excepthook", METH_O, thread_excepthook},
    [NAME] = {"set_name", METH_FASTCALL | METH_KEYWORDS, BIND_FN(thread_set_name)},
};

static int starts_threads(int which)
{
    return which == START || which == START_OLD || which == JOINABLE;
}

/* A debugger (pydevd) puts functions of its own in the place of those that start threads, keeps the
 * originals beside them and calls these. */
static PyObject *find_thread_function(PyObject *module, int which)
{
    PyObject *found = PyObject_GetAttrString(module, functions[which].name);
    if (found == NULL || PyCFunction_Check(found) || !starts_threads(which))
        return found;
    PyObject *kept =
        PyObject_GetAttrString(module, which == JOINABLE ? "_original_start_joinable_thread"
                                                         : "_original_start_new_thread");
    PyErr_Clear();
    if (kept != NULL && PyCFunction_Check(kept))
        Py_SETREF(found, Py_NewRef(kept));
    Py_XDECREF(kept);
    return found;
}

/* Replaces or restores one function of _thread, if there is one of that name: 0, or -1 with an
 * exception. */
static int swap_thread_function(PyObject *module, int which, int install)
{
    PyObject *function = find_thread_function(module, which);
    if (function == NULL) {
        PyErr_Clear();
        return 0;
    }
    if (install && PyCFunction_Check(function))
        originals[which] = PyCFunction_GET_FUNCTION(function);
    PyCFunction next = install ? functions[which].function : originals[which];
    PyCFunction original = c_function_swap(function, functions[which].flags, next);
    if (install && original == NULL)
        PyErr_Format(PyExc_RuntimeError,
                     "expected the interpreter's own function _thread.%s, found %R; loomlet cannot "
                     "run threads as tasklets here",
                     functions[which].name, function);
    Py_DECREF(function);
    return install && original == NULL ? -1 : 0;
}

/* ---- the module sqlite3 --------------------------------------------------------------------- */

static int idents_kept; /* code that asks the interpreter in C for its thread shall find ours */

/* PyThread_get_thread_ident() for C code that compares threads: get_ident() as a C function. */
static unsigned long ident_of_tasklet(void)
{
    const s_tasklet *t = patch_thread();
    return t != NULL ? (unsigned long)t->identity->ident : s_home_ident();
}

void bind_keep_ident_in(PyObject *module)
{
    PyModuleDef *definition =
        idents_kept && bind_is_module(module, "_sqlite3") ? PyModule_GetDef(module) : NULL;
    if (definition != NULL)
        p_library_replace_import(definition, "PyThread_get_thread_ident",
                                 (void *)(uintptr_t)ident_of_tasklet);
    PyErr_Clear();
}

static void keep_idents(void)
{
    PyObject *module = idents_kept ? NULL : bind_find_module("_sqlite3");
    idents_kept = 1;
    if (module != NULL)
        bind_keep_ident_in(module);
    PyErr_Clear();
    Py_XDECREF(module);
}

static PyObject *home_get_ident(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromUnsignedLong(s_home_ident());
}

/* _keep_identity(): from now on get_ident() and signal() are the same in all threads that carry a
 * scheduler. */
static PyObject *keep_identity(PyObject *module, PyObject *unused)
{
    static int kept;
    (void)module, (void)unused;
    PyObject *threads = kept ? NULL : PyImport_ImportModule("_thread");
    PyObject *function = threads ? PyObject_GetAttrString(threads, "get_ident") : NULL;
    if (function != NULL && !kept) {
        if (originals[IDENT] != NULL)
            originals[IDENT] = home_get_ident;
        else
            c_function_swap(function, METH_NOARGS, home_get_ident);
        kept = 1;
    }
    Py_XDECREF(threads);
    Py_XDECREF(function);
    bind_keep_signals();
    keep_idents();
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static int swap_thread_functions(int install)
{
    static int replaced[FUNCTIONS];
    PyObject *module = PyImport_ImportModule("_thread");
    int code = module != NULL ? 0 : -1;
    for (int i = 0; code == 0 && i < FUNCTIONS; i++) {
        if (replaced[i] == install || (!install && !starts_threads(i)))
            continue;
        code = swap_thread_function(module, i, install);
        replaced[i] = code == 0 && install;
    }
    s_threads_are_tasklets = code == 0 && install;
    Py_XDECREF(module);
    return code;
}

/* _patch_threads(sentinel) or _patch_threads(None): whether threads are tasklets. */
static PyObject *patch_threads(PyObject *module, PyObject *wanted)
{
    int install = wanted != Py_None;
    (void)module;
    if (install)
        Py_XSETREF(sentinel, Py_NewRef(wanted));
    if (install && patch_threads_prepare() < 0)
        return NULL;
    if (install) {
        replace_in_other_modules();
        bind_patch_thread_calls();
        bind_patch_signals();
        keep_idents();
    }
    return swap_thread_functions(install) < 0 ? NULL : Py_NewRef(Py_None);
}

PyMethodDef bind_thread_functions[] = {
    {"_patch_threads", patch_threads, METH_O, NULL},
    {"_raise_in_thread", raise_in_thread, METH_NOARGS, NULL},
    {"_keep_local", keep_local, METH_O, NULL},
    {"_threads", thread_idents, METH_NOARGS, NULL},
    {"_keep_identity", keep_identity, METH_NOARGS, NULL},
    {"_tasklet_name", tasklet_name, METH_NOARGS, NULL},
    {"_context_number", context_number, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
