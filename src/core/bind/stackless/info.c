/* The functions of the Stackless module that only read: which tasklets run, in which threads.
 *
 * What belongs to another thread is read while that thread is stopped.
 */
#include "bind/stackless/stackless.h"

static PyObject *stackless_getcurrent(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    return s ? Py_NewRef((PyObject *)s->current) : NULL;
}

/* What tasklets find that are killed when their thread ends: a main tasklet that never runs. */
static PyObject *last_main_of(s_sched *s)
{
    if (s->stackless.last_main == NULL)
        s->stackless.last_main = PyObject_CallNoArgs((PyObject *)&bind_stackless_tasklet_type);
    return s->stackless.last_main;
}

static PyObject *stackless_getmain(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    return Py_XNewRef(s->ending ? last_main_of(s) : (PyObject *)s->main);
}

static PyObject *stackless_getruncount(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    s_read_inbox(s);
    return PyLong_FromLong(s_run_count(s));
}

static PyObject *stackless_getcurrentid(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self_if_any();
    if (s == NULL || s->current == s->main)
        return PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    return PyLong_FromVoidPtr(s->current);
}

static int add_thread_id(PyObject *list, unsigned long thread_id)
{
    PyObject *id = PyLong_FromUnsignedLong(thread_id);
    int code = id != NULL ? PyList_Append(list, id) : -1;
    Py_XDECREF(id);
    return code;
}

static int add_other_thread(PyThreadState *other, void *list)
{
    return add_thread_id(list, other->thread_id) < 0;
}

static PyObject *stackless_getthreads(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyThreadState *ts = c_thread_state();
    PyObject *list = PyList_New(0);
    if (list == NULL || add_thread_id(list, ts->thread_id) < 0 ||
        c_each_other_thread(ts, add_other_thread, list) != 0 || PyList_Sort(list) < 0) {
        Py_XDECREF(list);
        return NULL;
    }
    PyObject *first = PyLong_FromUnsignedLong(c_main_thread_id());
    Py_ssize_t at = first != NULL ? PySequence_Index(list, first) : -1;
    if (at > 0 && (PySequence_DelItem(list, at) < 0 || PyList_Insert(list, 0, first) < 0))
        Py_CLEAR(list);
    else if (at < 0)
        PyErr_Clear();
    Py_XDECREF(first);
    return list;
}

/* ---- get_thread_info ---------------------------------------------------------------------- */

#define WITH_SERIALS (1UL << 30)
#define WITH_WATCHDOGS (1UL << 31)

static int has_thread_id(PyThreadState *other, void *id)
{
    return other->thread_id == *(unsigned long *)id;
}

/* The callers of run(): the one whose timeout applies, or None, then all from the outermost
 * inwards; None when run() was never called. */
static PyObject *list_run_callers(s_sched *s)
{
    if (s == NULL || !s->stackless.run_called)
        return Py_NewRef(Py_None);
    s_tasklet *effective = s_run_effective_caller(s);
    PyObject *list = Py_BuildValue("[O]", effective != NULL ? (PyObject *)effective : Py_None);
    for (b_link *at = s->stackless.run_callers.prev;
         list != NULL && at != &s->stackless.run_callers; at = at->prev) {
        if (PyList_Append(list, (PyObject *)s_of_link(at)) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *append_tuple(PyObject *tuple, PyObject *more)
{
    PyObject *joined = tuple && more ? PySequence_Concat(tuple, more) : NULL;
    Py_XDECREF(tuple);
    Py_XDECREF(more);
    return joined;
}

static PyObject *info_of(s_sched *s, unsigned long flags)
{
    PyObject *info = s == NULL ? Py_BuildValue("(OOi)", Py_None, Py_None, 0)
                               : Py_BuildValue("(OOl)", s->main, s->current, s_run_count(s));
    if (flags & WITH_SERIALS) {
        long serial = s != NULL ? (long)(s->count_soft + s->count_hard) : 0;
        PyObject *cstack = s != NULL ? bind_cstack_for(s->main) : Py_NewRef(Py_None);
        long stack = s != NULL ? bind_stack_serial(s) : 0;
        info = append_tuple(info, cstack ? Py_BuildValue("(llN)", serial, stack, cstack) : NULL);
    }
    if (flags & WITH_WATCHDOGS) {
        PyObject *list = list_run_callers(s);
        info = append_tuple(info, list ? Py_BuildValue("(N)", list) : NULL);
    }
    return info;
}

typedef struct {
    unsigned long thread_id, flags;
    PyObject *info;
} question;

static void answer_question(void *arg)
{
    question *q = arg;
    q->info = info_of(s_sched_of_thread(q->thread_id), q->flags);
}

static PyObject *stackless_get_thread_info(PyObject *module, PyObject *const *args,
                                           Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"thread_id", "flags", NULL};
    PyObject *given[2] = {NULL, NULL};
    (void)module;
    if (bind_parse_arguments("get_thread_info", names, 0, args, nargs, kwnames, given) < 0)
        return NULL;
    unsigned long id = given[0] ? PyLong_AsUnsignedLongMask(given[0]) : (unsigned long)-1;
    unsigned long flags = given[1] ? PyLong_AsUnsignedLongMask(given[1]) : 0;
    if (PyErr_Occurred())
        return NULL;
    PyThreadState *ts = c_thread_state();
    question q = {ts->thread_id, flags, NULL};
    if (id == (unsigned long)-1 || id == ts->thread_id) {
        if (s_self() != NULL)
            answer_question(&q);
    } else if (!c_each_other_thread(ts, has_thread_id, &id)) {
        PyErr_Format(PyExc_RuntimeError, "Thread id not found");
    } else {
        q.thread_id = id;
        c_while_world_stopped(answer_question, &q);
    }
    return q.info;
}

/* 0, or -1 with an exception. */
static int add_uncollectables(PyObject *list, s_sched *s)
{
    s_tasklet **found;
    int code = 0;
    Py_ssize_t count = s_tasklets(s, &found);
    if (count < 0) {
        bind_fail((int)count, NULL);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (code == 0 && found[i]->saved_as == S_C_STACK)
            code = PyList_Append(list, (PyObject *)found[i]);
        Py_DECREF((PyObject *)found[i]);
    }
    PyMem_RawFree(found);
    return code;
}

static PyObject *stackless_getuncollectables(PyObject *module, PyObject *unused)
{
    PyObject *list = PyList_New(0), *ids = stackless_getthreads(module, unused);
    Py_ssize_t count = ids != NULL ? PyList_GET_SIZE(ids) : 0;
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        s_sched *s = s_sched_of_thread(PyLong_AsUnsignedLong(PyList_GET_ITEM(ids, i)));
        if (s != NULL && add_uncollectables(list, s) < 0)
            Py_CLEAR(list);
    }
    if (ids == NULL)
        Py_CLEAR(list);
    Py_XDECREF(ids);
    return list;
}

static PyObject *stackless_getdebug(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
#ifdef Py_DEBUG
    Py_RETURN_TRUE;
#else
    Py_RETURN_FALSE;
#endif
}

#define KEYWORDS (METH_FASTCALL | METH_KEYWORDS)

PyMethodDef bind_stackless_info_functions[] = {
    {"getcurrent", stackless_getcurrent, METH_NOARGS,
     PyDoc_STR("getcurrent()\n--\n\nThe running tasklet of this thread.")},
    {"getmain", stackless_getmain, METH_NOARGS,
     PyDoc_STR("getmain()\n--\n\nThe main tasklet of this thread.")},
    {"getruncount", stackless_getruncount, METH_NOARGS,
     PyDoc_STR("getruncount()\n--\n\nHow many tasklets run or are runnable.")},
    {"getcurrentid", stackless_getcurrentid, METH_NOARGS,
     PyDoc_STR("getcurrentid()\n--\n\nAn int for the running tasklet.")},
    {"getthreads", stackless_getthreads, METH_NOARGS,
     PyDoc_STR("getthreads()\n--\n\nThe ids of all threads, the main one first.")},
    {"get_thread_info", BIND_FN(stackless_get_thread_info), KEYWORDS,
     PyDoc_STR("get_thread_info($module, /, thread_id=-1, flags=0)\n--\n\n"
               "(main tasklet or None, current one or None, runcount) of a thread.")},
    {"getuncollectables", stackless_getuncollectables, METH_NOARGS,
     PyDoc_STR("getuncollectables()\n--\n\nThe tasklets of all threads that keep a C stack.")},
    {"getdebug", stackless_getdebug, METH_NOARGS,
     PyDoc_STR("getdebug()\n--\n\nWhether Python is a debug build.")},
    {NULL, NULL, 0, NULL},
};
