/* The end of a wait: waking, interrupting, deadlines.
 *
 * A tasklet of this thread goes to the tail of the run queue.  One of another thread goes to that
 * thread's inbox; its wait kind and deadline are the owner's business and stay until it is read
 * there.
 *
 * An exception can be raised in a tasklet that is ready, paused or blocked.  One that runs, or that
 * another thread has just claimed, gets it as a message: it is queued by the time the message is
 * handled, or gets the message again.
 *
 * Signals.  Python's handlers run in main, as they do in a thread that waits: main leaves its wait
 * and runs them with nothing queued, so they may wait, start threads and raise; then it begins the
 * wait again.  A wait that can be begun again says so (`resumable`).  In a soft one there is no C
 * code that could begin it, so what is needed for that is kept (`left`): handlers run on top of
 * main's frames, and main waits as before, or goes on.  In other waits handlers run inside the
 * scheduler and must not wait (idle.c).  Where threads are tasklets, main leaves its wait for a
 * signal that found one of them too (patch/signal.c).  The system's main thread alone runs them: a
 * scheduler that is at another one looks at the end of each slice whether it has to go there.
 *
 * A deadline is a timer of its own that owns a reference to its tasklet: a tasklet that has one is
 * never garbage.
 */
#include "cpython/gil.h"
#include "sched/carrier.h"
#include "sched/internal.h"
#include "sched/sitter.h"

/* ---- waking -------------------------------------------------------------------------- */

static void wake_here(s_sched *s, s_tasklet *t)
{
    t->kind = NULL;
    s_deadline_drop(s, t);
    s_ready(s, t);
}

s_sched *s_wake_on_owner(s_tasklet *t)
{
    s_sched *owner = t->owner;
    if (s_post_woken(owner, t))
        return owner;
    s_arrive(t);
    t->kind = NULL;
    t->state = S_PAUSED;
    Py_DECREF((PyObject *)t);
    return NULL;
}

static void wake_thread(void *s)
{
    s_wake_thread(s);
}

void s_wake_thread_later(s_sched *to)
{
    const p_parker *parker =
        __atomic_load_n(&to->polls, __ATOMIC_SEQ_CST) ? &to->poller.parker : &to->parker;
    __atomic_store_n(&to->by_thread, 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&parker->word, __ATOMIC_SEQ_CST) == P_ASLEEP)
        c_gil_wake(wake_thread, to);
    else
        s_wake_thread(to);
}

void s_wake_slow(s_sched *s, s_tasklet *t)
{
    if (t->owner == s) {
        wake_here(s, t);
        return;
    }
    s_sched *owner = s_wake_on_owner(t);
    if (owner != NULL)
        s_wake_thread_later(owner);
}

void s_wake_all(s_sched *s, b_link *claimed, PyObject *value)
{
    for (b_link *at; (at = b_first(claimed)) != NULL;) {
        s_tasklet *t = s_of_link(at);
        b_unlink(at);
        s_give(t, value);
        s_wake(s, t);
    }
}

void s_fail_all(s_sched *s, b_link *claimed, int code)
{
    for (b_link *at; (at = b_first(claimed)) != NULL;) {
        s_tasklet *t = s_of_link(at);
        b_unlink(at);
        PyObject *error = s_hook.error(code, t->on);
        if (error == NULL)
            error = PyErr_GetRaisedException();
        Py_CLEAR(t->wait.value);
        Py_XSETREF(t->error, error);
        s_wake(s, t);
    }
}

static int count_waiters(const b_link *queue)
{
    int count = 0;
    for (b_link *at = queue->next; at != NULL && at != queue; at = at->next)
        count++;
    return count;
}

int s_leave_wait(s_tasklet *t)
{
    if (t->state != S_BLOCKED || !t->kind->detach(t))
        return 0;
    t->state = S_PAUSED;
    t->kind = NULL;
    Py_DECREF((PyObject *)t);
    return 1;
}

/* A tasklet that gets an exception may wait here again: then it stays. */
void s_forget_waiters(b_link *queue)
{
    for (int count = count_waiters(queue); count > 0 && !b_list_empty(queue); count--) {
        if (!s_leave_wait(B_CONTAINER(queue->next, s_wait, link)->task))
            break;
    }
}

/* ---- exceptions ---------------------------------------------------------------------- */

int s_interrupt(s_sched *s, s_tasklet *t, PyObject *error)
{
    int detached = t->state == S_BLOCKED ? s_detach_for(t, error) : 0;
    if (detached != 1) {
        Py_XDECREF(error);
        return detached == S_KEEPS_ERROR;
    }
    Py_CLEAR(t->wait.value);
    Py_XSETREF(t->error, error);
    s_wake(s, t);
    return 1;
}

void s_handle_interrupt(s_sched *s, s_tasklet *t, PyObject *error)
{
    s_interrupt(s, t, error);
}

int s_request_interrupt(s_sched *s, s_tasklet *t, PyObject *error)
{
    if (t->owner == s)
        return s_interrupt(s, t, error);
    int code = s_post_message(t->owner, s_handle_interrupt, t, error);
    return code < 0 ? code : 1;
}

void s_raise_in(s_sched *s, s_tasklet *t, PyObject *error)
{
    Py_INCREF(error);
    if (t->state == S_READY || t->state == S_PAUSED) {
        s_refuse(s, t);
        if (t->state == S_PAUSED) {
            Py_INCREF((PyObject *)t);
            s_ready(s, t);
        }
        Py_XSETREF(t->error, error);
    } else if (!s_interrupt(s, t, error)) {
        s_post_message(s, s_handle_throw, t, Py_NewRef(error));
    }
    Py_DECREF(error);
}

static void throw_into_waiting(s_sched *s, s_tasklet *t, PyObject *error)
{
    if (t->state == S_READY)
        b_unlink(&t->wait.link);
    else
        Py_INCREF((PyObject *)t);
    s_ready(s, t);
    Py_XSETREF(t->error, error);
    s_refuse(s, t);
}

/* The tasklet goes to the tail with the exception. */
void s_handle_throw(s_sched *s, s_tasklet *t, PyObject *error)
{
    if (t->state == S_DONE) {
        Py_DECREF(error);
    } else if (t->state == S_BLOCKED && t->kind == &s_sitting) {
        Py_XSETREF(t->error, error);
        c_interrupt_throw(&((s_carrier_thread *)t->on)->bell);
    } else if (t->state == S_RUNNING || t->state == S_BLOCKED) {
        if (t->state == S_RUNNING || !s_interrupt(s, t, Py_NewRef(error)))
            s_post_message(s, s_handle_throw, t, Py_NewRef(error));
        Py_DECREF(error);
    } else {
        throw_into_waiting(s, t, error);
    }
}

/* ---- signals ------------------------------------------------------------------------- */

static int leave_soft_wait(s_sched *s, s_tasklet *t)
{
    s_left_wait left = {.kind = t->kind, .value = t->wait.value, .until = S_FOREVER};
    if (t->saved_as != S_FRAMES || left.kind->again == NULL)
        return 0;
    if (t->timer != NULL)
        left.until = t->timer->node.when;
    left.on = Py_XNewRef((PyObject *)t->on);
    if (!left.kind->detach(t)) {
        Py_XDECREF(left.on);
        return 0;
    }
    s->left = left;
    t->wait.value = NULL;
    t->saved_as = S_FRAMES_CALLED;
    return 1;
}

int s_wake_for_signals(s_sched *s)
{
    s_tasklet *t = s->main;
    if (t->state != S_BLOCKED || !t->kind->resumable ||
        !(s_is_soft(t) && !t->kind->unfinished ? leave_soft_wait(s, t) : t->kind->detach(t)))
        return 0;
    s->signalled = 1;
    s_give(t, Py_True);
    s_wake(s, t);
    return 1;
}

int s_deliver_signals(s_sched *s)
{
    return s->away && !s->signalled && s_is_home_free(s) &&
           c_signal_waits_for(s->carriers->home->ts) && !s_wake_for_signals(s);
}

int s_run_signal_handlers(s_sched *s)
{
    if (!s->current->is_main)
        return 0;
    s->signalled = 0;
    int raised = PyErr_Occurred() != NULL;
    if (s_hook.handle_left_signals != NULL && s_hook.handle_left_signals(!raised) < 0)
        return -1;
    if (raised)
        return 0;
    int code = c_run_signal_handlers(s->ts);
    if (s_self_here() == NULL) /* a handler's last call was handed over */
        s_carrier_hook.meet();
    return code < 0 ? -1 : 1;
}

/* 0: main waits again; 1: it need not, with wait.value and error. */
static int begin_left_wait(s_sched *s, const s_left_wait *left)
{
    s_tasklet *t = s->current;
    int code = s_may_block(s);
    if (code == S_OK)
        code = left->kind->again(s, left);
    if (code < 0)
        t->error = code == S_E_SET ? NULL : s_hook.error(code, (PyObject *)t);
    if (code < 0 && t->error == NULL)
        t->error = PyErr_GetRaisedException();
    return code != 0;
}

int s_return_to_wait(s_sched *s)
{
    s_tasklet *t = s->current;
    s_left_wait left = s->left;
    PyObject *error = t->error;
    s->left = (s_left_wait){0};
    t->error = NULL;
    Py_CLEAR(t->wait.value);
    if (error != NULL)
        PyErr_SetRaisedException(error);
    int over = s_run_signal_handlers(s) != 1;
    if (over)
        t->error = PyErr_GetRaisedException();
    else
        over = begin_left_wait(s, &left);
    Py_XDECREF(left.on);
    Py_XDECREF(left.value);
    return over;
}

/* ---- deadlines ----------------------------------------------------------------------- */

static void deadline_expired(s_sched *s, s_timer *timer)
{
    s_tasklet *t = timer->owner;
    if (t->state != S_BLOCKED)
        return;
    PyObject *late = t->kind->late;
    if (late != NULL) {
        if (t->kind->detach(t)) {
            s_give(t, late);
            s_wake(s, t);
        }
        return;
    }
    int code = t->kind->late_code < 0 ? t->kind->late_code : S_E_TIMEOUT;
    PyObject *about = code == S_E_TIMEOUT ? (PyObject *)t : (PyObject *)t->on;
    PyObject *error = s_hook.error(code, about);
    if (error == NULL)
        error = PyErr_GetRaisedException();
    s_interrupt(s, t, error);
}

int s_deadline_with(s_sched *s, s_tasklet *t, int64_t when, void (*fire)(s_sched *, s_timer *))
{
    s_timer *timer = c_calloc(sizeof(*timer));
    if (timer == NULL)
        return S_E_MEMORY;
    timer->fire = fire;
    timer->owner = t;
    if (s_timer_arm(s, timer, when) < 0) {
        PyMem_Free(timer);
        return S_E_MEMORY;
    }
    t->timer = timer;
    Py_INCREF((PyObject *)t);
    return S_OK;
}

int s_deadline_set(s_sched *s, s_tasklet *t, int64_t when)
{
    return when == S_FOREVER ? S_OK : s_deadline_with(s, t, when, deadline_expired);
}

void s_deadline_drop(s_sched *s, s_tasklet *t)
{
    if (t->timer == NULL)
        return;
    s_timer_disarm(s, t->timer);
    PyMem_Free(t->timer);
    t->timer = NULL;
    Py_DECREF((PyObject *)t);
}

int64_t s_deadline_left(s_sched *s, const s_tasklet *t)
{
    if (t->timer == NULL)
        return S_FOREVER;
    int64_t left = t->timer->node.when - s_now(s);
    return left > 0 ? left : 0;
}
