/* select(), poll objects and epoll objects.
 *
 * The original is called first, and again after each wake-up, with a timeout of 0: its answer is
 * the result.  In between the tasklet waits for one descriptor: that of an epoll object, or a set
 * that holds all that select() or poll() was given (p_pollset_open), made at the first wait of the
 * call.  The set reports each change once; a wake-up for something that was not asked for (an end
 * where only writing was) costs one more call, not a loop.
 *
 * Files, which a set does not take, are always ready: the first call has answered for them.
 */
#include <errno.h>

#include "cpython/builtin_socket.h"
#include "patch/patch.h"
#include "sync/object_mutex.h"

patch_select_functions patch_select_originals;

/* One call: how the original is asked, and what is waited for. */
typedef struct poll_query {
    PyObject *self;
    PyObject *args[4]; /* with a timeout of 0; owned */
    int count;
    PyObject *(*ask)(struct poll_query *q);
    /* 0 or -1; NULL: self is waited for */
    int (*fill)(struct poll_query *q, int set);
    int set, process; /* the process that has made the set: the child of a fork makes its own */
} poll_query;

/* ---- asking until there is an answer ---------------------------------------------------- */

/* The descriptor to be waited for, or -1. */
static int pollset_of(poll_query *q)
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
        return patch_raise_errno(-q->set);
    return q->fill(q, q->set) < 0 ? -1 : q->set;
}

/* Whether an answer is empty: a list, or the three of select(). */
static int is_empty_answer(PyObject *answer)
{
    if (PyList_Check(answer))
        return PyList_GET_SIZE(answer) == 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(answer); i++) {
        if (!is_empty_answer(PyTuple_GET_ITEM(answer, i)))
            return 0;
    }
    return 1;
}

static PyObject *ask_until_ready(s_sched *s, poll_query *q, int64_t until)
{
    for (;;) {
        PyObject *answer = q->ask(q);
        if (answer == NULL || !is_empty_answer(answer))
            return answer;
        int fd = pollset_of(q), late = -1;
        if (fd >= 0)
            late = patch_wait(s, fd, P_READ, q->self, until);
        if (late > 0)
            return answer;
        Py_DECREF(answer);
        if (late < 0)
            return NULL;
    }
}

/* The answer; releases what the query owns. */
static PyObject *answer_query(s_sched *s, poll_query *q, int64_t timeout)
{
    q->set = -1;
    PyObject *done = NULL;
    if (patch_may_block(s) == 0)
        done = ask_until_ready(s, q, patch_deadline(s, timeout));
    if (q->set >= 0)
        p_close(q->set);
    for (int i = 0; i < q->count; i++)
        Py_XDECREF(q->args[i]);
    return done;
}

/* ---- select ------------------------------------------------------------------------------- */

static int add_to_pollset(int set, int fd, unsigned what)
{
    int code = p_pollset_add(set, fd, what);
    return code == 0 || code == -EPERM || code == -EBADF ? 0 : patch_raise_errno(-code);
}

/* The lists that were given may change while the tasklet waits: from now on it is asked for copies.
 * The first call sees what their methods fileno() do to them, as ever. */
static int fix_lists(poll_query *q)
{
    for (int side = 0; side < 3; side++) {
        PyObject *tuple = PySequence_Tuple(q->args[side]);
        if (tuple == NULL)
            return -1;
        Py_SETREF(q->args[side], tuple);
    }
    return 0;
}

static int fill_from_lists(poll_query *q, int set)
{
    if (fix_lists(q) < 0)
        return -1;
    for (int side = 0; side < 3; side++) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(q->args[side]); i++) {
            int fd = PyObject_AsFileDescriptor(PyTuple_GET_ITEM(q->args[side], i));
            if (fd < 0 || add_to_pollset(set, fd, side == 1 ? P_WRITE : P_READ) < 0)
                return -1;
        }
    }
    return 0;
}

static PyObject *ask_select(poll_query *q)
{
    PyCFunction original = patch_select_originals.select.builtin->ml_meth;
    return ((patch_fast_call)(void (*)(void))original)(q->self, q->args, 4);
}

PyObject *patch_select(s_sched *s, PyObject *module, PyObject *lists[3], int64_t timeout)
{
    poll_query q = {.self = module, .ask = ask_select, .fill = fill_from_lists, .count = 4};
    for (int i = 0; i < 3; i++)
        q.args[i] = lists[i];
    q.args[3] = Py_NewRef(Py_False);
    return answer_query(s, &q, timeout);
}

/* ---- poll ----------------------------------------------------------------------------------- */

static int fill_from_poll(poll_query *q, int set)
{
    PyObject *registered = PyDict_Copy(c_poll_registered(q->self)), *key, *value;
    Py_ssize_t at = 0;
    int code = registered ? 0 : -1;
    while (code == 0 && PyDict_Next(registered, &at, &key, &value))
        code = add_to_pollset(set, (int)PyLong_AsLong(key), p_poll_interest(PyLong_AsLong(value)));
    Py_XDECREF(registered);
    return code;
}

static PyObject *ask_poll(poll_query *q)
{
    PyCFunction original = patch_select_originals.poll;
    return ((patch_fast_call)(void (*)(void))original)(q->self, q->args, 1);
}

PyObject *patch_poll(s_sched *s, PyObject *poll, int64_t timeout)
{
    poll_query q = {.self = poll, .ask = ask_poll, .fill = fill_from_poll, .count = 1};
    y_object_mutex inside;
    if (y_object_mutex_is_taken(s, poll)) {
        PyErr_SetString(PyExc_RuntimeError, "concurrent poll() invocation");
        return NULL;
    }
    q.args[0] = PyLong_FromLong(0);
    y_object_mutex_begin(s, &inside, poll);
    PyObject *done = answer_query(s, &q, timeout);
    y_object_mutex_end(s, &inside);
    return done;
}

/* ---- epoll ---------------------------------------------------------------------------------- */

static PyObject *ask_epoll(poll_query *q)
{
    PyCFunction original = patch_select_originals.epoll_poll;
    return ((patch_keyword_call)(void (*)(void))original)(q->self, q->args, 2, NULL);
}

PyObject *patch_epoll(s_sched *s, PyObject *epoll, PyObject *most, int64_t timeout)
{
    poll_query q = {.self = epoll, .ask = ask_epoll, .count = 2};
    q.args[0] = PyLong_FromLong(0);
    q.args[1] = most ? Py_NewRef(most) : PyLong_FromLong(-1);
    return answer_query(s, &q, timeout);
}

PyObject *patch_epoll_close(PyObject *epoll, PyObject *unused)
{
    s_sched *s;
    int ours = patch_in_our_interpreter(&s), fd = ours ? PyObject_AsFileDescriptor(epoll) : -1;
    PyErr_Clear();
    PyObject *done = patch_select_originals.epoll_close(epoll, unused);
    if (fd >= 0)
        i_external_closed(s, fd, epoll);
    return done;
}
