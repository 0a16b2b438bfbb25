/* The reactor: tries an operation, begins a wait, and completes it when the poller reports.  See
 * io.h. */
#include <string.h>

#include "io/external.h"
#include "io/internal.h"

i_hooks i_hook;

/* ---- the end of a wait -------------------------------------------------------- */

/* Only on the owner's thread: a deadline there may be looking at the operation.  Python code that
 * runs when an object dies here finds the tasklet claimed: `on` is NULL. */
void i_op_arrived(s_tasklet *t)
{
    i_op *op = t->on;
    t->on = NULL;
    t->owner->io_waits--;
    Py_XDECREF(op->object);
    PyMem_Free(op);
}

int i_op_detach(s_tasklet *t)
{
    i_op *op = t->on;
    if (op == NULL || !s_leave_queue(t, &op->desc->lock))
        return 0;
    i_op_arrived(t);
    return 1;
}

int i_op_target(const s_tasklet *t, int i, s_target *found)
{
    const i_op *op = t->on;
    if (op == NULL || i > 0)
        return 0;
    found->object = op->desc->owner;
    return 1;
}

static PyObject *make_error(int code, PyObject *about)
{
    PyObject *error = s_hook.error(code, about);
    return error != NULL ? error : PyErr_GetRaisedException();
}

void i_op_finish(s_sched *s, s_tasklet *t, long outcome)
{
    i_op *op = t->on;
    PyObject *value = NULL, *error = NULL;
    if (outcome > 0) {
        value = op->kind->result(s, op);
        if (value == NULL && PyErr_Occurred())
            error = PyErr_GetRaisedException();
    } else if (outcome != S_E_DESCRIPTOR || !op->kind->iterates) {
        error = make_error((int)outcome, op->desc->owner);
    }
    t->wait.value = value;
    t->error = error;
    if (t->owner == s)
        i_op_arrived(t);
    s_wake(s, t);
}

/* ---- trying --------------------------------------------------------------------- */

static int is_dry(const s_sched *s, const i_desc *d, unsigned what)
{
    return d->dry & what && d->where == s->polls;
}

static void mark_dry(const s_sched *s, i_desc *d, unsigned what)
{
    if (d->where == s->polls && d->registered & what && !d->ended)
        d->dry |= (unsigned char)what;
}

/* Under the lock: > 0 done, 0 would have to wait, or a code. */
static long attempt_op(s_sched *s, i_op *op)
{
    i_desc *d = op->desc;
    if (B_UNLIKELY(d->fd < 0))
        return S_E_DESCRIPTOR;
    long outcome = op->kind->attempt(s, op, d->fd);
    if (B_LIKELY(outcome > 0)) {
        if (op->emptied && d->tcp)
            mark_dry(s, d, P_READ);
        return outcome;
    }
    if (outcome != -EAGAIN)
        return S_E_SYSTEM + outcome;
    mark_dry(s, d, op->kind->what);
    return 0;
}

/* Another tasklet of this thread came first and waits. */
static int is_behind(const s_sched *s, const i_op *op)
{
    b_link *first = b_first(i_desc_queue(op->desc, op->kind->what));
    return B_UNLIKELY(first != NULL) && s_of_link(first)->owner == s;
}

static long try_first(s_sched *s, i_op *op)
{
    i_desc *d = op->desc;
    c_lock_take(&d->lock);
    long outcome = is_behind(s, op) || is_dry(s, d, op->kind->what) ? 0 : attempt_op(s, op);
    c_lock_give(&d->lock);
    return outcome;
}

/* ---- beginning to wait ------------------------------------------------------------ */

/* Registers what is waited for with the poller of `s`.  Under the lock. */
static int register_wait(s_sched *s, i_desc *d, unsigned what)
{
    unsigned both = P_READ | P_WRITE;
    if (d->where == 0)
        d->where = s->polls;
    if (d->where == s->polls) {
        if (d->registered & what)
            return 0;
        both = d->registered | what;
    }
    if (p_poller_add(&s->poller, d->fd, both, i_desc_tag(d)) < 0)
        return S_E_SYSTEM - errno;
    if (d->where == s->polls)
        d->registered = (unsigned char)both;
    return 0;
}

/* Under the lock. */
static int queue_up(s_sched *s, s_tasklet *me, i_op *op)
{
    i_desc *d = op->desc;
    int code = d->fd < 0 ? S_E_DESCRIPTOR : register_wait(s, d, op->kind->what);
    if (code == 0)
        s_enqueue(me, i_desc_queue(d, op->kind->what), &op->kind->wait, op);
    return code;
}

/* Takes the operation over when it returns 0: the caller must s_suspend. */
static int begin_wait(s_sched *s, const i_op *from, int64_t until)
{
    int code = s_begin_poll_wait(s, until);
    if (code < 0)
        return code;
    i_op *op = c_malloc(sizeof(*op));
    code = S_E_MEMORY;
    if (op != NULL) {
        *op = *from;
        c_lock_take(&op->desc->lock);
        code = queue_up(s, s->current, op);
        c_lock_give(&op->desc->lock);
    }
    if (code == 0) {
        s->io_waits++;
        return 0;
    }
    PyMem_Free(op);
    s_deadline_drop(s, s->current);
    return code;
}

PyObject *i_op_run(s_sched *s, i_op *op, const c_call_site *site, int *code)
{
    return i_op_run_until(s, op, S_FOREVER, site, code);
}

long i_op_try(s_sched *s, i_op *op)
{
    return s->current->cancelled ? S_E_CANCELLED : try_first(s, op);
}

PyObject *i_op_run_until(s_sched *s, i_op *op, int64_t until, const c_call_site *site, int *code)
{
    long outcome = i_op_try(s, op);
    if (outcome == 0) {
        outcome = begin_wait(s, op, until);
        if (outcome == 0) {
            *code = S_OK;
            return s_suspend(s, site);
        }
    }
    PyObject *result = outcome > 0 ? op->kind->result(s, op) : NULL;
    *code = outcome > 0 ? S_OK : (int)outcome;
    if (outcome == S_E_DESCRIPTOR && op->kind->iterates)
        *code = S_OK;
    Py_XDECREF(op->object);
    return result;
}

/* ---- completing ------------------------------------------------------------------------ */

static s_tasklet *first_waiter(const s_sched *s, b_link *queue)
{
    for (b_link *at = queue->next; at != queue; at = at->next) {
        if (s_of_link(at)->owner == s)
            return s_of_link(at);
    }
    return NULL;
}

/* Tries the operation of the first waiter, and claims the waiter if it is done or has failed. */
static s_tasklet *advance_first(s_sched *s, i_desc *d, unsigned what, long *outcome)
{
    s_tasklet *t = first_waiter(s, i_desc_queue(d, what));
    *outcome = t == NULL || is_dry(s, d, what) ? 0 : attempt_op(s, t->on);
    if (*outcome == 0)
        return NULL;
    s_dequeue(&t->wait.link);
    return t;
}

int i_op_finish_first(s_sched *s, i_desc *d, const i_op_kind *kind)
{
    c_lock_take(&d->lock);
    s_tasklet *t = first_waiter(s, i_desc_queue(d, kind->what));
    if (t != NULL && ((i_op *)t->on)->kind != kind)
        t = NULL;
    if (t != NULL)
        s_dequeue(&t->wait.link);
    c_lock_give(&d->lock);
    if (t != NULL)
        i_op_finish(s, t, 1);
    return t != NULL;
}

static void serve_waiters(s_sched *s, uint64_t tag, unsigned what)
{
    i_desc *d = i_desc_of_tag(tag);
    s_tasklet *t;
    do {
        long outcome = 0;
        t = NULL;
        c_lock_take(&d->lock);
        if (i_desc_tag(d) == tag)
            t = advance_first(s, d, what, &outcome);
        c_lock_give(&d->lock);
        if (t != NULL)
            i_op_finish(s, t, outcome);
    } while (t != NULL);
}

/* What was exhausted may no longer be. */
static void note_event(s_sched *s, const p_event *event)
{
    i_desc *d = i_desc_of_tag(event->tag);
    c_lock_take(&d->lock);
    if (i_desc_tag(d) == event->tag) {
        d->ended |= event->what & P_ENDED;
        if (d->where == s->polls)
            d->dry &= (unsigned char)~event->what;
    }
    c_lock_give(&d->lock);
}

/* Its watcher may close it. */
static void tell_watcher(s_sched *s, const p_event *event)
{
    i_desc *d = i_desc_of_tag(event->tag);
    if (d->ready != NULL && i_desc_tag(d) == event->tag)
        d->ready(s, d, event->what);
}

void i_reactor_ready(s_sched *s, const p_event *events, int count)
{
    for (int i = 0; i < count; i++) {
        if (i_is_external(events[i].tag)) {
            i_external_ready(s, &events[i]);
            continue;
        }
        note_event(s, &events[i]);
        tell_watcher(s, &events[i]);
        if (events[i].what & P_READ)
            serve_waiters(s, events[i].tag, P_READ);
        if (events[i].what & P_WRITE)
            serve_waiters(s, events[i].tag, P_WRITE);
    }
}

/* ---- fork ----------------------------------------------------------------------------- */

static void fail_waiters_for(s_sched *s, i_desc *d, unsigned what, int code)
{
    s_tasklet *t;
    while ((t = first_waiter(s, i_desc_queue(d, what))) != NULL) {
        s_dequeue(&t->wait.link);
        i_op_finish(s, t, code);
    }
}

/* A descriptor that no tasklet waits for is registered with the new poller at the next wait. */
static void register_again(s_sched *s, i_desc *d)
{
    memset(&d->lock, 0, sizeof(d->lock));
    d->where = 0;
    d->registered = d->dry = 0;
    for (unsigned what = P_READ; what <= P_WRITE; what++) {
        if (first_waiter(s, i_desc_queue(d, what)) == NULL)
            continue;
        int code = s->polls ? register_wait(s, d, what) : S_E_SYSTEM - EMFILE;
        if (code < 0)
            fail_waiters_for(s, d, what, code);
    }
}

void i_reactor_after_fork(s_sched *s)
{
    i_descs_after_fork();
    i_desc_for_each(s, register_again);
    i_external_after_fork(s);
}

void i_reactor_init(void)
{
    s_hook.io_ready = i_reactor_ready;
    s_hook.io_after_fork = i_reactor_after_fork;
}
