/* For tests and benchmarks: counters, soft switching on and off, clocks, seeds, yardsticks. */
#include "base/b_check.h"
#include "bind/native/native.h"

/* noop(): a call that does nothing, as a yardstick for switches. */
static PyObject *inspect_noop(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module, (void)args, (void)nargs;
    Py_RETURN_NONE;
}

/* soft(flag=None): whether this thread may switch softly; a flag sets it, for this thread and for
 * new ones. */
static PyObject *inspect_soft(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    int before = s->soft;
    if (nargs > 0 && args[0] != Py_None) {
        int wanted = PyObject_IsTrue(args[0]);
        if (wanted < 0)
            return NULL;
        s_soft_wanted = wanted;
        s->soft = s_soft_mode(s, wanted);
    }
    return PyBool_FromLong(before);
}

/* _fail_allocation(n): the n-th allocation from now on fails; 0: none.  Returns what was left to
 * count. */
static PyObject *inspect_fail_allocation(PyObject *module, PyObject *count)
{
    (void)module;
    long n = PyLong_AsLong(count);
    if (n == -1 && PyErr_Occurred())
        return NULL;
    int left = c_fail_allocation_in;
    c_fail_allocation_in = (int)n;
    return PyLong_FromLong(left);
}

/* _torture(bits): see S_TORTURE_... */
static PyObject *inspect_torture(PyObject *module, PyObject *bits)
{
    (void)module;
    s_sched *s = s_self();
    long wanted = PyLong_AsLong(bits);
    if (s == NULL || PyErr_Occurred())
        return NULL;
    s_torture = (int)wanted;
    s->soft = s_soft_mode(s, s_soft_wanted);
    s->picks = s_picks(s);
    Py_RETURN_NONE;
}

static PyObject *inspect_stats(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    PyObject *why = PyDict_New();
    for (int i = 0; why != NULL && i < C_HARD_REASON_COUNT; i++) {
        PyObject *count = s->count_why[i] ? PyLong_FromUnsignedLong(s->count_why[i]) : NULL;
        if (count != NULL && PyDict_SetItemString(why, c_hard_reason(i), count) < 0)
            Py_CLEAR(why);
        Py_XDECREF(count);
    }
    if (why == NULL)
        return NULL;
    return Py_BuildValue("{s:k,s:k,s:N,s:l,s:n}", "soft", s->count_soft, "hard", s->count_hard,
                         "why_hard", why, "stacks", p_stacks_live(), "tasklet_size",
                         (Py_ssize_t)sizeof(s_tasklet));
}

/* The list, without what is not wanted; takes over the references. */
static PyObject *list_of(s_tasklet **found, Py_ssize_t count, int (*wanted)(const s_tasklet *))
{
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (list != NULL && (wanted == NULL || wanted(found[i])) &&
            PyList_Append(list, (PyObject *)found[i]) < 0)
            Py_CLEAR(list);
        Py_DECREF((PyObject *)found[i]);
    }
    return list;
}

PyObject *bind_tasklets(int (*wanted)(const s_tasklet *))
{
    s_tasklet **found;
    s_sched *s = s_self();
    Py_ssize_t count = s ? s_tasklets(s, &found) : S_E_SET;
    if (count < 0)
        return bind_fail((int)count, NULL);
    PyObject *list = list_of(found, count, wanted);
    PyMem_RawFree(found);
    return list;
}

/* tasklets(): the main tasklet, then the others that have not ended, oldest first. */
static PyObject *inspect_tasklets(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *list = bind_tasklets(NULL);
    if (list != NULL && PyList_Insert(list, 0, (PyObject *)s_self_here()->main) < 0)
        Py_CLEAR(list);
    return list;
}

/* _virtual_clock(seconds or None): from now on the clock stands still and jumps to the next timer.
 * Returns the old setting, for nested use. */
static PyObject *inspect_virtual_clock(PyObject *module, PyObject *value)
{
    int64_t nanoseconds = -1;
    (void)module;
    s_sched *s = s_self();
    if (s == NULL || (value != Py_None && bind_read_seconds(value, &nanoseconds) < 0))
        return NULL;
    int64_t before = s->virtual_now;
    s->virtual_now = nanoseconds;
    return before < 0 ? Py_NewRef(Py_None) : PyFloat_FromDouble((double)before / 1e9);
}

/* _seed(n): the run order is drawn from this seed; 0: first in, first out.  Returns a negative n
 * that restores the previous order, or 0. */
static PyObject *inspect_seed(PyObject *module, PyObject *value)
{
    (void)module;
    s_sched *s = s_self();
    unsigned long long bits = PyLong_AsUnsignedLongLongMask(value);
    if (s == NULL || PyErr_Occurred())
        return NULL;
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    int raw = overflow ? overflow < 0 : number < 0;
    PyObject *before = PyLong_FromUnsignedLongLong(s->random);
    PyObject *back = before ? PyNumber_Negative(before) : NULL;
    Py_XDECREF(before);
    if (back == NULL)
        return NULL;
    s->random = raw ? -bits : bits ? bits * 0x9E3779B97F4A7C15u | 1 : 0;
    s->budget = 1;
    return back;
}

static PyObject *inspect_depth_at(PyObject *module, PyObject *args)
{
    PyObject *code;
    int offset;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!i:_depth_at", &PyCode_Type, &code, &offset))
        return NULL;
    return PyLong_FromLong(c_stack_depth_at((PyCodeObject *)code, offset));
}

static void *forth_sp, *back_sp;

static void switch_back(void)
{
    for (;;)
        p_switch(&back_sp, forth_sp);
}

/* Switches with `words` machine words of stack in use. */
static B_NOINLINE void switch_forth(long rounds, long words)
{
    volatile uintptr_t below[words + 1];
    for (long i = 0; i <= words; i++)
        below[i] = (uintptr_t)i;
    for (long i = 0; i < rounds; i++)
        p_switch(&forth_sp, back_sp);
    below[0] = below[words];
}

/* _profiled(): while which profilers tasklets have taken turns since the last call: 1 cProfile, 2
 * VizTracer. */
static PyObject *inspect_profiled(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    int profiled = s->profiled;
    s->profiled = 0;
    return PyLong_FromLong(profiled);
}

/* cswitch_ns(rounds, words=0): ns for one switch between two C stacks. */
static PyObject *inspect_cswitch_ns(PyObject *module, PyObject *args)
{
    long rounds, words = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "l|l:cswitch_ns", &rounds, &words))
        return NULL;
    if (rounds < 1 || words < 0 || words > 10000) {
        PyErr_SetString(PyExc_ValueError, "cswitch_ns() takes rounds >= 1 and 0 <= words <= 10000");
        return NULL;
    }
    p_stack *stack = p_stack_new();
    if (stack == NULL)
        return PyErr_NoMemory();
    p_start(&forth_sp, stack, switch_back);
    int64_t begin = p_now();
    switch_forth(rounds, words);
    int64_t end = p_now();
    p_stack_free(stack);
    return PyFloat_FromDouble((double)(end - begin) / (2.0 * (double)rounds));
}

PyMethodDef bind_inspect_functions[] = {
    {"noop", BIND_FN(inspect_noop), METH_FASTCALL,
     PyDoc_STR("noop()\n--\n\nDoes nothing: a yardstick.")},
    {"soft", BIND_FN(inspect_soft), METH_FASTCALL,
     PyDoc_STR("soft(flag=None, /)\n--\n\n"
               "Whether soft switching is on in this thread; with a flag, sets it.")},
    {"stats", inspect_stats, METH_NOARGS,
     PyDoc_STR("stats()\n--\n\nCounters of the calling thread's scheduler, as a dict.")},
    {"tasklets", inspect_tasklets, METH_NOARGS,
     PyDoc_STR("tasklets()\n--\n\n"
               "The calling thread's tasklets that have not ended, the main one first.")},
    {"cswitch_ns", inspect_cswitch_ns, METH_VARARGS,
     PyDoc_STR("cswitch_ns(rounds, words=0, /)\n--\n\n"
               "Nanoseconds of one bare C stack switch above `words` words of stack.")},
    {"_profiled", inspect_profiled, METH_NOARGS, NULL},
    {"_virtual_clock", inspect_virtual_clock, METH_O, NULL},
    {"_seed", inspect_seed, METH_O, NULL},
    {"_fail_allocation", inspect_fail_allocation, METH_O, NULL},
    {"_torture", inspect_torture, METH_O, NULL},
    {"_depth_at", inspect_depth_at, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
