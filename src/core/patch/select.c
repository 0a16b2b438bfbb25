/* select(), poll objects and epoll objects.
 *
 * The original is called first, and again after each wake-up, with a timeout of 0: its answer is
 * the result.  In between the tasklet waits for one descriptor: that of an epoll object, or a set
 * that holds all that select() or poll() was given (p_pollset_open), made at the first wait of the
 * call.  The set reports each change once; a wake-up for something that was not asked for (an end
 * where only writing was) costs one more call, not a loop.
 *
 * The first wait is soft where the caller's frames allow it, because programs spend their time
 * there: what is left of the call is an object then (s_rest).  Further ones, after a wake-up for
 * nothing, are hard.
 *
 * Files, which a set does not take, are always ready: the first call has answered for them.
 */
#include <errno.h>

#include "cpython/builtin_socket.h"
#include "patch/soft_call.h"

patch_select_functions patch_select_originals;

/* One call: how the original is asked, and what is waited for. */
typedef struct poll_query {
    patch_soft_call soft;
    s_sched *s;
    PyObject *self;    /* borrowed; owned by an object */
    PyObject *args[4]; /* with a timeout of 0; owned */
    int count;
    PyObject *(*ask)(struct poll_query *q);
    /* 0 or -1; NULL: self is waited for */
    int (*fill)(struct poll_query *q, int set);
    int set, process; /* the process that has made the set: the child of a fork makes its own */
    int64_t until;
    int alone; /* no other call on self may begin meanwhile */
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

/* Asks once: 1 with the answer, which is empty only when it is `late`, or NULL.  0: wait. */
static int ask_once(poll_query *q, int late, PyObject **answer)
{
    *answer = q->ask(q);
    if (*answer == NULL || late || !is_empty_answer(*answer))
        return 1;
    Py_CLEAR(*answer);
    return 0;
}

static PyObject *ask_until_ready(poll_query *q, int late)
{
    PyObject *answer;
    while (late >= 0 && !ask_once(q, late, &answer)) {
        int fd = pollset_of(q);
        late = fd < 0 ? -1 : patch_wait(q->s, fd, P_READ, q->self, q->until);
    }
    return late >= 0 ? answer : NULL;
}

/* ---- a call that waits, as an object ------------------------------------------------------ */

static int visit_query(PyObject *self, visitproc visit, void *arg)
{
    poll_query *q = (poll_query *)self;
    Py_VISIT(q->self);
    for (int i = 0; i < q->count; i++)
        Py_VISIT(q->args[i]);
    return 0;
}

/* What the query owns but for its object. */
static void drop_query(poll_query *q)
{
    if (q->set >= 0)
        p_close(q->set);
    for (int i = 0; i < q->count; i++)
        Py_XDECREF(q->args[i]);
}

static void dealloc_query(PyObject *self)
{
    poll_query *q = (poll_query *)self;
    PyObject_GC_UnTrack(self);
    patch_soft_call_end(&q->soft);
    drop_query(q);
    Py_DECREF(q->self);
    PyObject_GC_Del(self);
}

static PyTypeObject query_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.PollQuery",
    .tp_basicsize = sizeof(poll_query),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_traverse = visit_query,
    .tp_dealloc = dealloc_query,
};

int patch_select_prepare(void)
{
    return PyType_Ready(&query_type);
}

static PyObject *go_on_asking(patch_soft_call *soft, PyObject *woken)
{
    if (woken != Py_None)
        return ask_until_ready((poll_query *)soft, woken == Py_False);
    patch_raise_errno(EBADF);
    return NULL;
}

/* The query as an object, with what it owned; NULL, and it owns nothing. */
static poll_query *make_query_object(poll_query *from)
{
    poll_query *q = patch_soft_call_new(&query_type, sizeof(*q));
    if (q == NULL) {
        drop_query(from);
        return NULL;
    }
    memcpy((char *)q + sizeof(q->soft), (char *)from + sizeof(q->soft),
           sizeof(*q) - sizeof(q->soft));
    q->soft.go_on = go_on_asking;
    Py_INCREF(q->self);
    PyObject_GC_Track(q);
    return q;
}

static PyObject *answer_after_wait(poll_query *from, const c_call_site *site)
{
    poll_query *q = make_query_object(from);
    if (q == NULL)
        return NULL;
    s_meet_again();
    patch_soft_call_begin(&q->soft, q->s, q->alone ? q->self : (PyObject *)q);
    int fd = pollset_of(q);
    if (fd < 0) {
        Py_DECREF(q);
        return NULL;
    }
    s_meet_again();
    q->soft.request = (i_external_request){fd, P_READ, q->self};
    return patch_soft_call_wait(&q->soft, q->until, site);
}

/* The first time, when the query is no object yet. */
static int ask_first(poll_query *q, PyObject **answer)
{
    y_object_mutex asking;
    if (!q->alone)
        return ask_once(q, 0, answer);
    y_object_mutex_begin(q->s, &asking, q->self);
    int answered = ask_once(q, 0, answer);
    PyObject *pending = PyErr_GetRaisedException();
    y_object_mutex_end(q->s, &asking);
    PyErr_SetRaisedException(pending);
    return answered;
}

/* The answer; releases what the query owns. */
static PyObject *answer_query(poll_query *q, int64_t timeout, const c_call_site *site)
{
    PyObject *answer = NULL;
    q->set = -1;
    if (patch_may_block(q->s) == 0) {
        q->until = patch_deadline(q->s, timeout);
        if (!ask_first(q, &answer))
            return answer_after_wait(q, site);
    }
    drop_query(q);
    return answer;
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

PyObject *patch_select(s_sched *s, PyObject *lists[3], int64_t timeout, const c_call_site *site)
{
    poll_query q = {
        .s = s, .self = site->self, .ask = ask_select, .fill = fill_from_lists, .count = 4};
    for (int i = 0; i < 3; i++)
        q.args[i] = lists[i];
    q.args[3] = Py_NewRef(Py_False);
    return answer_query(&q, timeout, site);
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

PyObject *patch_poll(s_sched *s, int64_t timeout, const c_call_site *site)
{
    poll_query q = {
        .s = s, .self = site->self, .ask = ask_poll, .fill = fill_from_poll, .count = 1};
    if (y_object_mutex_is_taken(s, q.self)) {
        PyErr_SetString(PyExc_RuntimeError, "concurrent poll() invocation");
        return NULL;
    }
    q.args[0] = PyLong_FromLong(0);
    q.alone = 1;
    return answer_query(&q, timeout, site);
}

/* ---- epoll ---------------------------------------------------------------------------------- */

static PyObject *ask_epoll(poll_query *q)
{
    PyCFunction original = patch_select_originals.epoll_poll;
    return ((patch_keyword_call)(void (*)(void))original)(q->self, q->args, 2, NULL);
}

PyObject *patch_epoll(s_sched *s, PyObject *most, int64_t timeout, const c_call_site *site)
{
    poll_query q = {.s = s, .self = site->self, .ask = ask_epoll, .count = 2};
    q.args[0] = PyLong_FromLong(0);
    q.args[1] = most ? Py_NewRef(most) : PyLong_FromLong(-1);
    return answer_query(&q, timeout, site);
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
