/* May the running Python code be interrupted here, between two instructions?
 *
 * Not interrupted is code that other code of the same thread must not find half done:
 *   - an import: its locks belong to the OS thread, so a second tasklet that imports the same
 *     module would take it for a circular import and get half a module;
 *   - a destructor (__del__), which runs wherever the last reference was dropped;
 *   - a garbage collection, with its callbacks and finalizers;
 *   - a trace function: a debugger shows one moment;
 *   - code of our own package, which is written for switches at blocking calls only (the functions
 *     that it calls may be interrupted);
 *   - code of threading.py, in the same way: a tasklet that was interrupted in
 *     Condition.__enter__() and is killed there would hold the lock without being inside `with`,
 *     and nothing would ever release it.  But Thread.run() may be: what it calls may be a function
 *     in C, and then it is the innermost code for as long as the thread lives;
 *   - code of weak sets and dictionaries, whose callbacks run wherever an object's last reference
 *     was dropped: what is raised there goes nowhere;
 *   - code of asyncio's event loop itself, whose queues a tasklet may add to;
 *   - the gap that some versions have between a manager's __enter__() and the block of its `with`,
 *     or between the block and __exit__(), for the same reason.
 *
 * This is found out by walking the frames, which costs a few nanoseconds per frame, and only when
 * an interruption is due.  Other callbacks of weak references cannot be distinguished from what
 * else C calls.
 */
#include "cpython/layout.h"

static PyObject *del_name, *bootstrap, *threading, *thread_run, *loops, *own_files, *own_but;
static PyObject *weak_set, *weak_dict;

/* That of a module's function, or of a method of its class `type`. */
static PyObject *code_of_function(const char *in, const char *type, const char *name)
{
    PyObject *module = PyImport_ImportModule(in);
    PyObject *holder = module && type ? PyObject_GetAttrString(module, type) : Py_XNewRef(module);
    PyObject *function = holder ? PyObject_GetAttrString(holder, name) : NULL;
    PyObject *code = function ? PyObject_GetAttrString(function, "__code__") : NULL;
    Py_XDECREF(function);
    Py_XDECREF(holder);
    Py_XDECREF(module);
    return code;
}

static PyObject *file_of_code(PyObject *code)
{
    PyObject *file = code ? PyObject_GetAttrString(code, "co_filename") : NULL;
    Py_XDECREF(code);
    return file;
}

int c_interruptible_init(PyObject *own, PyObject *but)
{
    if (c_interned_name(&del_name, "__del__") == NULL)
        return -1;
    if (bootstrap == NULL && (bootstrap = file_of_code(code_of_function(
                                  "importlib._bootstrap", NULL, "_find_and_load"))) == NULL)
        return -1;
    if (thread_run == NULL && (thread_run = code_of_function("threading", "Thread", "run")) == NULL)
        return -1;
    if (threading == NULL && (threading = file_of_code(Py_NewRef(thread_run))) == NULL)
        return -1;
    if (weak_set == NULL &&
        (weak_set = file_of_code(code_of_function("_weakrefset", "WeakSet", "add"))) == NULL)
        return -1;
    if (weak_dict == NULL &&
        (weak_dict = file_of_code(code_of_function("weakref", "WeakValueDictionary", "copy"))) ==
            NULL)
        return -1;
    Py_XSETREF(own_files, Py_NewRef(own));
    Py_XSETREF(own_but, Py_NewRef(but));
    return 0;
}

void c_interruptible_exclude_file(PyObject *file)
{
    Py_XSETREF(loops, Py_NewRef(file));
}

static int path_starts_with(PyObject *text, PyObject *start)
{
    return PyUnicode_Tailmatch(text, start, 0, PY_SSIZE_T_MAX, -1) > 0;
}

static int is_uninterruptible_file(PyCodeObject *code)
{
    PyObject *file = code->co_filename;
    if (file == weak_set || file == weak_dict)
        return 1;
    if (file == threading || file == loops)
        return (PyObject *)code != thread_run;
    return own_files != NULL && path_starts_with(file, own_files) &&
           !path_starts_with(file, own_but);
}

static int stands_in_with_gap(const c_frame *f)
{
#ifdef C_HAS_WITH_GAP
    return frame_in_with_gap(f);
#else
    (void)f;
    return 0;
#endif
}

int c_is_interruptible(PyThreadState *ts)
{
    if (ts->tracing || thread_collecting(ts))
        return 0;
    int innermost = 1;
    for (c_frame *f = thread_frame(ts); f != NULL; f = f->previous) {
        if (frame_is_entry(f))
            continue;
        PyCodeObject *code = frame_code(f);
        if (code->co_name == del_name || code->co_filename == bootstrap)
            return 0;
        if (innermost && (is_uninterruptible_file(code) || stands_in_with_gap(f)))
            return 0;
        innermost = 0;
    }
    return 1;
}
