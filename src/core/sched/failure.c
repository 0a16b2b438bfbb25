/* The exception that ended a tasklet: how it is kept, delivered again and again, and let go.
 *
 * One exception object is delivered to everybody who asks, as a Future does.  An exception has one
 * traceback, to which each frame that it passes adds an entry.  So a tasklet keeps beside its
 * exception, `failure`, the traceback that this had when it ended the tasklet, `traceback`.
 * Invariants:
 *   1. Whoever raises a failure first puts `traceback` back: what was added on the way to others is
 *      gone.  A receiver sees the tasklet's frames and its own, however many deliveries there were.
 *      It is done where the exception is raised: a join that waited raises only when its tasklet
 *      runs again, and others may have raised the same exception meanwhile.
 *   2. Receivers that handle it at the same time share the object, and the entries above
 *      `traceback` are those of the last one.  The entries of the tasklet are always there.
 *   3. Once the tasklet alone refers to a delivered failure, `traceback` is put back, so no
 *      receiver's frame is kept, and the variables of the frames in it are dropped.  What is
 *      printed stays the same.  As long as anybody else refers to the exception, to an entry of its
 *      traceback or to a frame (a handler, a log record, a debugger), they stay.
 *   4. The same is done to the exceptions that it comes from (cause, context, members of a group),
 *      as far as only they refer to each other.
 *
 * CPython tells nobody that a handler has ended.  So delivered failures are in a list, "settled",
 * and a few of it are looked at with each delivery and on the slow path of the run queue, where
 * each delivery sends its thread soon; all of them at the end of a run and with a full collection.
 * This also breaks the cycle that a handler makes when it has the tasklet in a variable: frame,
 * tasklet, exception, traceback, frame.  The collector is not needed for it.
 *
 * A tasklet that was killed, or cancelled with its scope, has not failed: nobody receives its exit
 * exception but as a cause, so it is settled at its end.  A failure that only the error handler has
 * seen keeps its variables: a debugger may want them.
 *
 * The list owns nothing.  Its links are the wait nodes of the tasklets, which have ended and wait
 * for nothing; one lock guards it, and a tasklet leaves it before its memory is freed.  Any
 * attached thread may look at it; `traceback` and `failure` do not change until the tasklet is
 * bound again or freed.
 *
 * Rejected: a copy of the exception for each delivery (an exception with an `__init__` of its own
 * cannot be copied); dropping the variables with the delivery (a handler wants to log them); a hook
 * in the deallocator of exceptions, to be told when the handler ends (every exception of the
 * program would pay, and one that dies cannot be kept).
 */
#include "sched/failure.h"

#include "cpython/traceback.h"
#include "sched/internal.h"

enum { YOUNG = 8 }; /* looks after which a failure is one that somebody keeps */

int s_settled_count;
static c_lock settled_lock;
static b_link settled_list = {&settled_list, &settled_list};

/* ---- keeping and delivering ---------------------------------------------------------- */

void s_failure_keep(s_tasklet *t, PyObject *failure)
{
    t->failure = failure;
    t->traceback = c_traceback_of(failure);
}

static void put_trace_back(PyObject *failure, PyObject *trace)
{
    PyObject *now = c_traceback_of(failure);
    if (now != trace)
        c_traceback_put(failure, trace);
    Py_XDECREF(now);
}

/* The thread looks at the settled ones at its next switch, and then less and less often. */
static void look_at_settled_soon(s_sched *s)
{
    if (s != NULL)
        s->budget = s->pace = 1;
}

PyObject *s_failure_take(s_tasklet *t)
{
    PyObject *failure = Py_XNewRef(t->failure);
    if (failure == NULL)
        return NULL;
    put_trace_back(failure, t->traceback);
    s_failure_settle(s_self_here(), t);
    s_failures_let_go(S_SETTLED_AT_ONCE);
    return failure;
}

/* A join leaves the ended tasklet as the value that comes with the exception. */
void s_failure_arrives(s_tasklet *t, PyObject *error, PyObject *value)
{
    if (value == NULL || !PyObject_TypeCheck(value, s_hook.type))
        return;
    s_tasklet *ended = (s_tasklet *)value;
    if (ended->state == S_DONE && ended->failure == error)
        put_trace_back(error, ended->traceback);
    look_at_settled_soon(t->owner);
}

/* ---- the list of those that are to be let go ----------------------------------------- */

/* The young are in front, so that one that is kept for long does not delay them. */
static void link_settled(s_tasklet *t)
{
    c_lock_take(&settled_lock);
    if (t->failure != NULL && t->state == S_DONE && !t->held && !b_linked(&t->wait.link)) {
        b_insert_after(t->looks < YOUNG ? &settled_list : settled_list.prev, &t->wait.link);
        s_settled_count++;
    }
    c_lock_give(&settled_lock);
}

static void unlink_settled(s_tasklet *t)
{
    b_unlink(&t->wait.link);
    s_settled_count--;
}

void s_failure_settle(s_sched *s, s_tasklet *t)
{
    t->looks = 0;
    link_settled(t);
    look_at_settled_soon(s);
}

void s_failure_forget(s_tasklet *t)
{
    if (B_LIKELY(t->state != S_DONE || !b_linked(&t->wait.link)))
        return;
    c_lock_take(&settled_lock);
    if (b_linked(&t->wait.link))
        unlink_settled(t);
    c_lock_give(&settled_lock);
}

/* The first one: a new reference, or NULL. */
static s_tasklet *take_settled(void)
{
    s_tasklet *t = NULL;
    c_lock_take(&settled_lock);
    while (t == NULL && !b_list_empty(&settled_list)) {
        s_tasklet *first = s_of_link(settled_list.next);
        unlink_settled(first);
        t = c_try_incref((PyObject *)first) ? first : NULL;
    }
    c_lock_give(&settled_lock);
    return t;
}

void s_failures_after_fork(void)
{
    settled_lock = (c_lock){0};
}

/* ---- letting go ---------------------------------------------------------------------- */

/* 0: somebody handles it, or looks at it, or a call in it still runs. */
static int let_go_of_failure(s_tasklet *t)
{
    PyObject *failure = Py_XNewRef(t->failure);
    if (failure == NULL || t->state != S_DONE)
        return 1;
    int done = Py_REFCNT(failure) <= 2;
    if (done) {
        put_trace_back(failure, t->traceback);
        done = c_exception_let_go(failure, 2) != 0;
    }
    Py_DECREF(failure);
    return done;
}

/* Returns the tasklet if its failure is to be looked at again.  `all`: after all others. */
static s_tasklet *look_at_settled(s_tasklet *t, int all)
{
    if (!let_go_of_failure(t)) {
        t->looks = all || t->looks >= YOUNG ? YOUNG : t->looks + 1;
        return t;
    }
    Py_DECREF((PyObject *)t);
    return NULL;
}

/* Those that are to be looked at again are kept apart meanwhile: the list would begin with them. */
static void look_at_each(int most, int all)
{
    s_tasklet *again[S_SETTLED_AT_ONCE];
    int count = 0;
    for (int i = 0; i < most; i++) {
        s_tasklet *t = take_settled();
        if (t != NULL && (t = look_at_settled(t, all)) != NULL)
            again[count++] = t;
    }
    while (count > 0) {
        link_settled(again[--count]);
        Py_DECREF((PyObject *)again[count]);
    }
}

void s_failures_let_go(int most)
{
    int count = __atomic_load_n(&s_settled_count, __ATOMIC_RELAXED);
    if (count == 0)
        return;
    PyObject *pending = PyErr_GetRaisedException();
    for (int left = count < most ? count : most; left > 0; left -= S_SETTLED_AT_ONCE)
        look_at_each(left < S_SETTLED_AT_ONCE ? left : S_SETTLED_AT_ONCE, most > S_SETTLED_AT_ONCE);
    PyErr_SetRaisedException(pending);
}
