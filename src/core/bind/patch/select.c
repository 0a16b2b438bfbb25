/* select.select, poll objects and epoll objects for tasklets.
 *
 * The original is asked first, and asked again after each wake-up, with a timeout of 0: what it
 * returns is its own.  In between the tasklet waits for one descriptor: an epoll object's own,
 * or a set that holds all that select() or poll() was given (p_pollset_open), made at the first
 * wait of the call.  The set tells each change once; a wake-up for something that was not asked for
 * (an end where only writing was) costs one more question, not a loop.
 *
 * Files, which a set does not take, are always ready: the first question has been answered.
 */
#include <errno.h>

#include "bind/patch/patch.h"
#include "cpython/builtin_socket.h"

typedef PyObject *(*fast_call)(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
typedef PyObject *(*named_call)(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames);

static c_replaced_function selecting;
static PyTypeObject *poll_type, *epoll_type;
static struct {
    PyCFunction poll, epoll, epoll_close;
} stock;

/* One call: how its question is asked, and what is waited for. */
typedef struct question {
    PyObject *self;
    PyObject *args[4]; /* with a timeout of 0; owned */
    int count;
    PyObject *(*ask)(struct question *q);
    /* 0, or -1 with an exception; NULL: self is waited for */
    int (*fill)(struct question *q, int set);
    int set, process; /* in which the set was made: the child of a fork makes its own */
} question;

static int system_error(int code)
{
    errno = -code;
    PyErr_SetFromErrno(PyExc_OSError);
    return -1;
}

/* ---- asking until there is an answer ---------------------------------------------------- */

/* Something to be waited for: its number, or -1 with an exception. */
static int target(question *q)
{
    if (q->fill == NULL)
        return PyObject_AsFileDescriptor(q->self);
    if (q->set >= 0 && q->process == p_process_id()) {
        p_pollset_drain(q->set);
        return q->set;
    }
    if (q->set >= 0)
        p_close(q->set);
    q->process = p_process_id();
    q->set = p_pollset_open();
    if (q->set < 0)
        return system_error(q->set);
    return q->fill(q, q->set) < 0 ? -1 : q->set;
}

/* Whether an answer, a list or select's three, is an empty one. */
static int is_empty(PyObject *answer)
{
    if (PyList_Check(answer))
        return PyList_GET_SIZE(answer) == 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(answer); i++) {
        if (!is_empty(PyTuple_GET_ITEM(answer, i)))
            return 0;
    }
    return 1;
}

static PyObject *repeat(s_sched *s, question *q, int64_t until)
{
    for (;;) {
        PyObject *answer = q->ask(q);
        if (answer == NULL || !is_empty(answer))
            return answer;
        int fd = target(q), late = -1;
        if (fd >= 0)
            late = bind_patch_wait(s, fd, P_READ, q->self, until);
        if (late > 0)
            return answer;
        Py_DECREF(answer);
        if (late < 0)
            return NULL;
    }
}

/* The answer; lets go of what the question owns. */
static PyObject *answer(s_sched *s, question *q, int64_t timeout)
{
    int64_t until;
    q->set = -1;
    PyObject *done = bind_patch_until(s, timeout, &until) < 0 ? NULL : repeat(s, q, until);
    if (q->set >= 0)
        p_close(q->set);
    for (int i = 0; i < q->count; i++)
        Py_XDECREF(q->args[i]);
    return done;
}

/* ---- select(r, w, x, timeout=None) ------------------------------------------------------- */

static int add(int set, int fd, unsigned what)
{
    int code = p_pollset_add(set, fd, what);
    return code == 0 || code == -EPERM || code == -EBADF ? 0 : system_error(code);
}

static int fill_select(question *q, int set)
{
    for (int side = 0; side < 3; side++) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(q->args[side]); i++) {
            int fd = PyObject_AsFileDescriptor(PyTuple_GET_ITEM(q->args[side], i));
            if (fd < 0 || add(set, fd, side == 1 ? P_WRITE : P_READ) < 0)
                return -1;
        }
    }
    return 0;
}

static PyObject *ask_select(question *q)
{
    return ((fast_call)(void (*)(void))selecting.stock->ml_meth)(q->self, q->args, 4);
}

/* A tuple that nobody changes meanwhile. */
static PyObject *fixed(PyObject *sequence)
{
    PyObject *items = PySequence_Fast(sequence, "arguments 1-3 must be sequences");
    PyObject *tuple = items ? PySequence_Tuple(items) : NULL;
    Py_XDECREF(items);
    return tuple;
}

static PyObject *select_(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    int64_t timeout;
    question q = {.self = module, .ask = ask_select, .fill = fill_select, .count = 4};
    s_sched *s = nargs == 3 || nargs == 4 ? bind_patch_sched() : NULL;
    if (s == NULL || bind_patch_timeout(nargs == 4 ? args[3] : NULL, 1e9, &timeout) < 0 ||
        timeout == 0)
        return ((fast_call)(void (*)(void))selecting.stock->ml_meth)(module, args, nargs);
    for (int i = 0; i < 3; i++) {
        q.args[i] = i == 0 || q.args[i - 1] != NULL ? fixed(args[i]) : NULL;
    }
    q.args[3] = Py_NewRef(Py_False);
    if (q.args[2] != NULL)
        return answer(s, &q, timeout);
    for (int i = 0; i < 4; i++)
        Py_XDECREF(q.args[i]);
    return NULL;
}

/* ---- poll.poll(timeout=None), in milliseconds ------------------------------------------------ */

static int fill_poll(question *q, int set)
{
    PyObject *registered = PyDict_Copy(c_poll_registered(q->self)), *key, *value;
    Py_ssize_t at = 0;
    int code = registered ? 0 : -1;
    while (code == 0 && PyDict_Next(registered, &at, &key, &value))
        code = add(set, (int)PyLong_AsLong(key), p_poll_interest(PyLong_AsLong(value)));
    Py_XDECREF(registered);
    return code;
}

static PyObject *ask_poll(question *q)
{
    return ((fast_call)(void (*)(void))stock.poll)(q->self, q->args, 1);
}

/* Numbers below 0 are for ever too: 1; else 0. */
static int is_negative(PyObject *value)
{
    double number = 0;
    if (value != NULL && (PyFloat_Check(value) || PyIndex_Check(value)))
        number = PyFloat_AsDouble(value);
    PyErr_Clear();
    return number < 0;
}

static PyObject *poll_(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int64_t timeout = 0;
    PyObject *given = nargs == 1 && !is_negative(args[0]) ? args[0] : NULL;
    question q = {.self = self, .ask = ask_poll, .fill = fill_poll, .count = 1};
    s_sched *s = nargs <= 1 ? bind_patch_sched() : NULL;
    if (s == NULL || bind_patch_timeout(given, 1e6, &timeout) < 0 || timeout == 0)
        return ((fast_call)(void (*)(void))stock.poll)(self, args, nargs);
    q.args[0] = PyLong_FromLong(0);
    return answer(s, &q, timeout);
}

/* ---- epoll.poll(timeout=None, maxevents=-1) and close() -------------------------------- */

static PyObject *ask_epoll(question *q)
{
    return ((named_call)(void (*)(void))stock.epoll)(q->self, q->args, 2, NULL);
}

static PyObject *epoll_(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"timeout", "maxevents", NULL};
    int64_t timeout = 0;
    PyObject *values[2] = {NULL, NULL};
    question q = {.self = self, .ask = ask_epoll, .count = 2};
    s_sched *s = bind_patch_sched();
    int known =
        s != NULL && bind_parse_arguments("poll", names, 0, args, nargs, kwnames, values) == 0;
    PyErr_Clear();
    if (known && is_negative(values[0]))
        values[0] = NULL;
    if (!known || bind_patch_timeout(values[0], 1e9, &timeout) < 0 || timeout == 0)
        return ((named_call)(void (*)(void))stock.epoll)(self, args, nargs, kwnames);
    q.args[0] = PyLong_FromLong(0);
    q.args[1] = values[1] ? Py_NewRef(values[1]) : PyLong_FromLong(-1);
    return answer(s, &q, timeout);
}

static PyObject *epoll_close(PyObject *self, PyObject *unused)
{
    s_sched *s;
    int is_ours = bind_is_ours(&s), fd = is_ours ? PyObject_AsFileDescriptor(self) : -1;
    PyErr_Clear();
    PyObject *done = stock.epoll_close(self, unused);
    if (fd >= 0)
        i_external_closed(s, fd, self);
    return done;
}

/* ---- installing ------------------------------------------------------------------------ */

static const c_function_replacement functions[] = {
    {"select", METH_FASTCALL, BIND_FN(select_), &selecting}};
static const c_method_replacement poll_methods[] = {
    {"poll", METH_FASTCALL, BIND_FN(poll_), &stock.poll},
};
static const c_method_replacement epoll_methods[] = {
    {"poll", METH_FASTCALL | METH_KEYWORDS, BIND_FN(epoll_), &stock.epoll},
    {"close", METH_NOARGS, epoll_close, &stock.epoll_close},
};

static int find_types(PyObject *module)
{
    PyObject *epoll = PyObject_GetAttrString(module, "epoll");
    Py_XSETREF(epoll_type, (PyTypeObject *)epoll);
    Py_XSETREF(poll_type, epoll ? c_poll_find(module) : NULL);
    return poll_type ? 0 : -1;
}

static int take(PyObject *module)
{
    if (find_types(module) < 0 || c_methods_replace(poll_type, poll_methods, 1) < 0 ||
        c_methods_replace(epoll_type, epoll_methods, 2) < 0)
        return -1;
    return c_functions_replace("select", functions, 1);
}

int bind_patch_select(int install)
{
    if (install) {
        PyObject *module = PyImport_ImportModule("select");
        int code = module ? take(module) : -1;
        Py_XDECREF(module);
        return code;
    }
    c_functions_restore(functions, 1);
    if (stock.poll != NULL)
        c_methods_restore(poll_type, poll_methods, 1);
    if (stock.epoll != NULL)
        c_methods_restore(epoll_type, epoll_methods, 2);
    return 0;
}
