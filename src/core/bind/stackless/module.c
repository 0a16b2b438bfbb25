/* The functions of the Stackless module.
 *
 * They say that they are of loomlet.compat.stackless, which takes them from the core, where their
 * names have the prefix _stackless_.  They act on the calling thread's scheduler unless they say
 * otherwise; soft switching and the default pickle flags are set for the process.
 */
#include "base/b_check.h"
#include "bind/stackless/stackless.h"
#include "cpython/builtin_type.h"

/* ---- switching --------------------------------------------------------------------- */

/* Returns a borrowed reference to `retval`, or to the current tasklet if it is not given; or NULL
 * with TypeError. */
static B_NOINLINE PyObject *read_retval(s_sched *s, const char *function, PyObject *const *args,
                                        Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"retval", NULL};
    PyObject *given[1] = {(PyObject *)s->current};
    return bind_parse_arguments(function, names, 0, args, nargs, kwnames, given) < 0 ? NULL
                                                                                     : given[0];
}

static inline PyObject *retval_of(s_sched *s, const char *function, PyObject *const *args,
                                  Py_ssize_t nargs, PyObject *kwnames)
{
    return B_LIKELY((nargs | (Py_ssize_t)kwnames) == 0)
               ? (PyObject *)s->current
               : read_retval(s, function, args, nargs, kwnames);
}

static PyObject *stackless_schedule(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames)
{
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    PyObject *mine = (PyObject *)s->current;
    if (B_UNLIKELY((nargs | (Py_ssize_t)kwnames) != 0 || !s_may_switch_now(s))) {
        mine = retval_of(s, "schedule", args, nargs, kwnames);
        int code = mine != NULL ? s_stackless_may_switch(s) : S_E_SET;
        if (code <= 0)
            return code == 0 ? Py_NewRef(mine) : bind_stackless_fail(code, (PyObject *)s->current);
        nargs = bind_argument_count(nargs, kwnames);
    }
    c_call_site site = {module, args, nargs, (void *)stackless_schedule, C_CALL};
    return s_schedule_with(s, Py_NewRef(mine), &site);
}

static PyObject *stackless_schedule_remove(PyObject *module, PyObject *const *args,
                                           Py_ssize_t nargs, PyObject *kwnames)
{
    int code;
    s_sched *s = s_self();
    PyObject *mine = s != NULL ? retval_of(s, "schedule_remove", args, nargs, kwnames) : NULL;
    if (mine == NULL)
        return NULL;
    c_call_site site = {module, args, bind_argument_count(nargs, kwnames),
                        (void *)stackless_schedule_remove, C_CALL};
    PyObject *done = s_pause_removed(s, Py_NewRef(mine), &site, &code);
    return bind_stackless_result(done, code, (PyObject *)s->current);
}

/* The flags of run(), -1 with an exception. */
static int run_flags_of(PyObject *const *given)
{
    static const int bits[] = {S_RUN_THREADBLOCK, S_RUN_SOFT, S_RUN_IGNORE_NESTING, S_RUN_TOTAL};
    int flags = 0;
    for (int i = 0; i < 4; i++) {
        int truth = given[i] != NULL ? PyObject_IsTrue(given[i]) : 0;
        if (truth < 0)
            return -1;
        flags |= truth ? bits[i] : 0;
    }
    return flags;
}

static PyObject *stackless_run(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    static const char *const names[] = {"timeout",        "threadblock",  "soft",
                                        "ignore_nesting", "totaltimeout", NULL};
    PyObject *given[5] = {NULL};
    s_sched *s = s_self();
    if (s == NULL || bind_parse_arguments("run", names, 0, args, nargs, kwnames, given) < 0)
        return NULL;
    long long budget = given[0] != NULL ? PyLong_AsLongLong(given[0]) : 0;
    int code = S_OK, flags = PyErr_Occurred() ? -1 : run_flags_of(given + 1);
    if (flags < 0 || (budget > 0 && s_slices_prepare() < 0))
        return NULL;
    c_call_site site = {module, args, bind_argument_count(nargs, kwnames), (void *)stackless_run,
                        C_CALL};
    PyObject *done = s_run_until_idle(s, budget, flags, &site, &code);
    return bind_stackless_result(done, code, (PyObject *)s->current);
}

/* ---- settings ------------------------------------------------------------------------------ */

void bind_stackless_keep_garbage(s_tasklet *t)
{
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *garbage = gc != NULL ? PyObject_GetAttrString(gc, "garbage") : NULL;
    if (garbage == NULL || !PyList_Check(garbage) || PyList_Append(garbage, (PyObject *)t) < 0)
        PyErr_WriteUnraisable((PyObject *)t);
    Py_XDECREF(garbage);
    Py_XDECREF(gc);
}

static PyObject *stackless_enable_softswitch(PyObject *module, PyObject *flag)
{
    (void)module;
    int before = s_soft_wanted && c_soft_supported;
    if (flag != Py_None) {
        int wanted = PyObject_IsTrue(flag);
        if (wanted < 0)
            return NULL;
        s_set_soft(wanted);
    }
    return PyBool_FromLong(before);
}

#define PICKLE_FLAGS 15

static PyObject *change_flags(const char *function, int *flags, PyObject *const *args,
                              Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"new", "mask", NULL};
    PyObject *given[2] = {NULL, NULL};
    if (bind_parse_arguments(function, names, 0, args, nargs, kwnames, given) < 0)
        return NULL;
    long wanted = given[0] ? PyLong_AsLong(given[0]) : -1;
    long mask = given[1] && !PyErr_Occurred() ? PyLong_AsLong(given[1]) : -1;
    if (PyErr_Occurred())
        return NULL;
    int before = *flags;
    if (wanted != -1) {
        if (wanted & mask & ~PICKLE_FLAGS)
            return PyErr_Format(PyExc_ValueError, "you must not set an undefined pickle-flag");
        *flags = (int)((before & ~mask) | (wanted & mask));
    }
    return PyLong_FromLong(before);
}

static PyObject *stackless_pickle_flags(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                        PyObject *kwnames)
{
    (void)module;
    s_sched *s = s_self();
    return s ? change_flags("pickle_flags", &s->stackless.pickle_flags, args, nargs, kwnames)
             : NULL;
}

static PyObject *stackless_pickle_flags_default(PyObject *module, PyObject *const *args,
                                                Py_ssize_t nargs, PyObject *kwnames)
{
    (void)module;
    return change_flags("pickle_flags_default", &s_pickle_flags, args, nargs, kwnames);
}

/* ---- for tests ------------------------------------------------------------------------------- */

/* test_cframe_nr(switches): calls schedule() from C that many times. */
static PyObject *stackless_test_cframe_nr(PyObject *module, PyObject *count)
{
    (void)module;
    s_sched *s = s_self();
    long switches = PyLong_AsLong(count);
    if (s == NULL || PyErr_Occurred())
        return NULL;
    for (; switches > 0; switches--) {
        PyObject *done = s_schedule(s, NULL);
        if (done == NULL)
            return NULL;
        Py_DECREF(done);
    }
    Py_RETURN_NONE;
}

/* test_outside(): runs the other tasklets until the run queue is empty. */
static PyObject *stackless_test_outside(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("test_outside", nargs, 0) < 0)
        return NULL;
    c_call_site site = BIND_SITE(module, args, nargs, stackless_test_outside);
    PyObject *done = s_run_until_idle(s, 0, 0, &site, &code);
    return bind_stackless_result(done, code, (PyObject *)s->current);
}

/* _test_nostacklesscall(f, *args, **kwargs): calls f from C. */
static PyObject *stackless_test_nostacklesscall(PyObject *module, PyObject *const *args,
                                                Py_ssize_t nargs, PyObject *kwnames)
{
    (void)module;
    if (nargs < 1)
        return PyErr_Format(PyExc_TypeError, "_test_nostacklesscall() takes a callable");
    return PyObject_Vectorcall(args[0], args + 1, (size_t)nargs - 1, kwnames);
}

static PyObject *stackless_gc_track(PyObject *module, PyObject *object)
{
    (void)module;
    if (PyObject_IS_GC(object) && !PyObject_GC_IsTracked(object))
        PyObject_GC_Track(object);
    Py_RETURN_NONE;
}

static PyObject *stackless_gc_untrack(PyObject *module, PyObject *object)
{
    (void)module;
    if (PyObject_IS_GC(object) && PyObject_GC_IsTracked(object))
        PyObject_GC_UnTrack(object);
    Py_RETURN_NONE;
}

/* _stackless_install(): main tasklets follow the rules of Stackless from now on. */
static PyObject *stackless_install(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (s_self() == NULL || c_type_flags_replace() < 0)
        return NULL;
    s_retype_mains(&bind_stackless_tasklet_type);
    Py_RETURN_NONE;
}

#define KEYWORDS (METH_FASTCALL | METH_KEYWORDS)

static PyMethodDef module_functions[] = {
    {"schedule", BIND_FN(stackless_schedule), KEYWORDS,
     PyDoc_STR("schedule($module, /, retval=None)\n--\n\n"
               "Goes to the tail and lets the next tasklet run; returns retval, which is the\n"
               "current tasklet if it is left out.")},
    {"schedule_remove", BIND_FN(stackless_schedule_remove), KEYWORDS,
     PyDoc_STR("schedule_remove($module, /, retval=None)\n--\n\n"
               "As schedule(), but the caller is paused.")},
    {"run", BIND_FN(stackless_run), KEYWORDS,
     PyDoc_STR(
         "run($module, /, timeout=0, threadblock=False, soft=False, "
         "ignore_nesting=False, totaltimeout=False)\n--\n\n"
         "Runs the other tasklets until none is runnable, and returns None; or the one that\n"
         "ran for `timeout` ticks without switching.  Raises the exception that ended a tasklet.")},
    {"enable_softswitch", stackless_enable_softswitch, METH_O,
     PyDoc_STR("enable_softswitch($module, flag, /)\n--\n\n"
               "Allows soft switching or not (None: only asks); returns the old value.")},
    {"pickle_flags", BIND_FN(stackless_pickle_flags), KEYWORDS,
     PyDoc_STR("pickle_flags($module, /, new=-1, mask=-1)\n--\n\n"
               "Changes the pickle flags of this thread; returns the old ones.")},
    {"pickle_flags_default", BIND_FN(stackless_pickle_flags_default), KEYWORDS,
     PyDoc_STR("pickle_flags_default($module, /, new=-1, mask=-1)\n--\n\n"
               "The same for threads that begin later.")},
    {"test_cframe_nr", stackless_test_cframe_nr, METH_O, NULL},
    {"test_outside", BIND_FN(stackless_test_outside), METH_FASTCALL, NULL},
    {"_test_nostacklesscall", BIND_FN(stackless_test_nostacklesscall), KEYWORDS, NULL},
    {"_gc_track", stackless_gc_track, METH_O, NULL},
    {"_gc_untrack", stackless_gc_untrack, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

PyMethodDef bind_stackless_functions[] = {
    {"_stackless_install", stackless_install, METH_NOARGS, NULL},
    {"_stackless_send_sequence", bind_set_send_sequence, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static int add_under_prefix(PyObject *module, PyMethodDef *functions)
{
    PyObject *owner = PyUnicode_FromString("loomlet.compat.stackless");
    int failed = owner == NULL;
    for (; !failed && functions->ml_name != NULL; functions++) {
        PyObject *function = PyCFunction_NewEx(functions, module, owner);
        PyObject *name = PyUnicode_FromFormat("_stackless_%s", functions->ml_name);
        failed = function == NULL || name == NULL || PyObject_SetAttr(module, name, function) < 0;
        Py_XDECREF(function);
        Py_XDECREF(name);
    }
    Py_XDECREF(owner);
    return failed ? -1 : 0;
}

int bind_add_stackless_functions(PyObject *module)
{
    return add_under_prefix(module, module_functions) < 0 ||
                   add_under_prefix(module, bind_stackless_callback_functions) < 0 ||
                   add_under_prefix(module, bind_stackless_info_functions) < 0
               ? -1
               : 0;
}
