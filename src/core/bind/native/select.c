/* select(): makes an array of a list of cases, and waits. */
#include "bind/native/native.h"

#define ON_STACK 16

static int read_case(PyObject *item, n_case *out)
{
    PyObject *channel = item, *value = NULL;
    if (PyTuple_Check(item) && PyTuple_GET_SIZE(item) == 2) {
        channel = PyTuple_GET_ITEM(item, 0);
        value = PyTuple_GET_ITEM(item, 1);
    }
    if (!bind_is_channel(channel)) {
        PyErr_Format(
            PyExc_TypeError,
            "a select case is a Channel (receive) or (Channel, value) (send), found %.100s",
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

/* This function owns nothing when it suspends, because its C frame may be abandoned then; a waiting
 * select has references of its own to the channels. */
static PyObject *select_cases(s_sched *s, PyObject *fast, int64_t until, const c_call_site *site)
{
    n_case room[ON_STACK], *cases = read_cases(fast, room);
    int code, at = 0, count = (int)PySequence_Fast_GET_SIZE(fast);
    if (cases == NULL) {
        Py_DECREF(fast);
        return NULL;
    }
    PyObject *result;
    int waits = n_select(s, cases, count, until, &result, &at, &code);
    PyObject *about = closed_channel(cases, at, code);
    if (cases != room)
        PyMem_Free(cases);
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

PyObject *bind_select(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    int64_t until;
    s_sched *s = s_self();
    if (s == NULL || refuse_bare_channel(args, nargs) < 0 ||
        bind_read_timeout(s, "select", args, nargs, kwnames, 1, &until) < 0)
        return NULL;
    if (s->current->cancelled) /* before Python code of the argument can run */
        return bind_fail(S_E_CANCELLED, (PyObject *)s->current);
    PyObject *fast = PySequence_Fast(args[0], "select() takes a list or tuple of cases");
    if (fast == NULL)
        return NULL;
    c_call_site site = BIND_SITE(module, args, bind_argument_count(nargs, kwnames), bind_select);
    return select_cases(s, fast, until, &site);
}
