/* select(): makes an array of a list of cases, and waits. */
#include "bind/native/native.h"

#define ON_STACK 16

static int read_case(PyObject *item, n_case *out)
{
    PyObject *channel = item, *value = NULL;
    *out = (n_case){NULL, NULL};
    if (item == Py_None)
        return 0;
    if (PyTuple_Check(item) && PyTuple_GET_SIZE(item) == 2) {
        channel = PyTuple_GET_ITEM(item, 0);
        value = PyTuple_GET_ITEM(item, 1);
    }
    if (!bind_is_channel(channel)) {
        PyErr_Format(PyExc_TypeError,
                     "a select case is a Channel (receive), (Channel, value) (send) or None (never "
                     "happens), "
                     "found %.100s",
                     Py_TYPE(item)->tp_name);
        return -1;
    }
    out->channel = (n_channel *)channel;
    out->value = value;
    return 0;
}

/* The cases borrow from `fast`, which the caller keeps alive. */
static n_case *read_cases(PyObject *fast, n_case *room)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(fast);
    if (count < 1 || count > 1 << 20) {
        PyErr_Format(PyExc_ValueError, "select() takes at least one case, %zd given", count);
        return NULL;
    }
    n_case *cases = count > ON_STACK ? c_malloc((size_t)count * sizeof(n_case)) : room;
    if (cases == NULL)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; cases != NULL && i < count; i++) {
        if (read_case(PySequence_Fast_GET_ITEM(fast, i), &cases[i]) == 0)
            continue;
        if (cases != room)
            PyMem_Free(cases);
        cases = NULL;
    }
    return cases;
}

static PyObject *closed_channel(const n_case *cases, int at, int code)
{
    return code == S_E_CLOSED ? Py_NewRef((PyObject *)cases[at].channel) : NULL;
}

/* A select that can neither happen nor end is a mistake. */
static int check_for_ever(const n_choice *choice)
{
    for (int i = 0; i < choice->count; i++)
        if (choice->cases[i].channel != NULL)
            return 0;
    if (choice->until != S_FOREVER)
        return 0;
    PyErr_SetString(PyExc_ValueError, "select() takes at least one case that may happen, or a "
                                      "timeout; all cases are None");
    return -1;
}

/* This function owns nothing when it suspends, because its C frame may be abandoned then; a waiting
 * select has references of its own. */
static PyObject *select_cases(s_sched *s, PyObject *fast, n_choice *choice, const c_call_site *site)
{
    n_case room[ON_STACK];
    PyObject *result = NULL, *about = NULL;
    int code = S_E_SET, at = 0, waits = 0;
    choice->count = (int)PySequence_Fast_GET_SIZE(fast);
    choice->cases = read_cases(fast, room);
    if (choice->cases != NULL && check_for_ever(choice) == 0) {
        waits = n_select(s, choice, &result, &at, &code);
        about = closed_channel(choice->cases, at, code);
    }
    if (choice->cases != room)
        PyMem_Free(choice->cases);
    Py_DECREF(fast);
    if (waits)
        return s_suspend(s, site);
    result = bind_result(result, code, about);
    Py_XDECREF(about);
    return result;
}

/* A channel in the place of the list would be taken for one, because it can be iterated. */
static int refuse_bare_channel(PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs < 1 || !bind_is_channel(args[0]))
        return 0;
    const char *use =
        nargs > 1 && bind_is_channel(args[1]) ? "select([a, b])" : "select([channel])";
    PyErr_Format(PyExc_TypeError, "select() expected one list of cases, found a Channel; use %s",
                 use);
    return -1;
}

/* select(cases, timeout=None, *, closed=...) */
static int read_arguments(s_sched *s, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                          n_choice *choice)
{
    static const char *const names[] = {"cases", "timeout", "closed", NULL};
    PyObject *values[3] = {NULL, NULL, NULL};
    if (bind_check_most("select", nargs, 2) < 0 ||
        bind_parse_arguments("select", names, 1, args, nargs, kwnames, values) < 0)
        return -1;
    choice->closed = values[2];
    return bind_read_deadline(s, values[1], &choice->until);
}

PyObject *bind_select(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    n_choice choice;
    s_sched *s = s_self();
    if (s == NULL || refuse_bare_channel(args, nargs) < 0 ||
        read_arguments(s, args, nargs, kwnames, &choice) < 0)
        return NULL;
    if (s->current->cancelled) /* before Python code of the argument can run */
        return bind_fail(S_E_CANCELLED, (PyObject *)s->current);
    PyObject *fast = PySequence_Fast(args[0], "select() takes a list or tuple of cases");
    if (fast == NULL)
        return NULL;
    c_call_site site = BIND_SITE(module, args, bind_argument_count(nargs, kwnames), bind_select);
    return select_cases(s, fast, &choice, &site);
}
