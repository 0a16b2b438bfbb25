/* The reactor: begins a wait, and goes on with it when the poller tells.  See io.h. */
#include <string.h>

#include "io/internal.h"

i_hooks i_hook;

/* ---- the end of a wait -------------------------------------------------------- */

/* Only at home: a deadline there may just be looking at it.  What dies here may run Python code,
 * which finds the tasklet claimed: `on` is NULL. */
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

static PyObject *failure(int code, PyObject *about)
{
    PyObject *error = s_hook.error(code, about);
    return error != NULL ? error : PyErr_GetRaisedException();
}

void i_op_finish(s_sched *s, s_tasklet *t, long outcome)
{
    i_op *op = t->on;
    PyObject *value = NULL, *error = NULL;
    if (outcome > 0) {
        value = op->way->result(s, op);
        if (value == NULL && PyErr_Occurred())
            error = PyErr_GetRaisedException();
    } else if (outcome != S_E_DESCRIPTOR || !op->way->iterates) {
        error = failure((int)outcome, op->desc->owner);
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

static void exhausted(const s_sched *s, i_desc *d, unsigned what)
{
    if (d->where == s->polls && d->told & what && !d->ended)
        d->dry |= (unsigned char)what;
}

/* Under the lock: > 0 done, 0 would have to wait, or a code. */
static long attempt(s_sched *s, i_op *op)
{
    i_desc *d = op->desc;
    if (B_UNLIKELY(d->fd < 0))
        return S_E_DESCRIPTOR;
    long outcome = op->way->attempt(s, op, d->fd);
    if (B_LIKELY(outcome > 0)) {
        if (op->emptied && d->tcp)
            exhausted(s, d, P_READ);
        return outcome;
    }
    if (outcome != -EAGAIN)
        return S_E_SYSTEM + outcome;
    exhausted(s, d, op->way->what);
    return 0;
}

/* One of ours came first and waits. */
static int is_behind(const s_sched *s, const i_op *op)
{
    b_link *first = b_first(i_desc_queue(op->desc, op->way->what));
    return B_UNLIKELY(first != NULL) && s_of_link(first)->owner == s;
}

static long try_first(s_sched *s, i_op *op)
{
    i_desc *d = op->desc;
    c_lock_take(&d->lock);
    long outcome = is_behind(s, op) || is_dry(s, d, op->way->what) ? 0 : attempt(s, op);
    c_lock_give(&d->lock);
    return outcome;
}

/* ---- beginning to wait ------------------------------------------------------------ */

/* The poller of `s` tells of what is waited for from now on.  Under the lock. */
static int enlist(s_sched *s, i_desc *d, unsigned what)
{
    unsigned both = P_READ | P_WRITE;
    if (d->where == 0)
        d->where = s->polls;
    if (d->where == s->polls) {
        if (d->told & what)
            return 0;
        both = d->told | what;
    }
    if (p_poller_add(&s->poller, d->fd, both, i_desc_tag(d)) < 0)
        return S_E_SYSTEM - errno;
    if (d->where == s->polls)
        d->told = (unsigned char)both;
    return 0;
}

/* Under the lock. */
static int queue_up(s_sched *s, s_tasklet *me, i_op *op)
{
    i_desc *d = op->desc;
    int code = d->fd < 0 ? S_E_DESCRIPTOR : enlist(s, d, op->way->what);
    if (code == 0)
        s_enqueue(me, i_desc_queue(d, op->way->what), &op->way->kind, op);
    return code;
}

/* Takes the operation over when it returns 0: the caller must s_suspend. */
static int begin_wait(s_sched *s, const i_op *from)
{
    int code = s_may_block(s);
    if (code == S_OK)
        code = s_poll_begin(s);
    i_op *op = code == S_OK ? c_malloc(sizeof(*op)) : NULL;
    if (op == NULL)
        return code < 0 ? code : S_E_MEMORY;
    *op = *from;
    c_lock_take(&op->desc->lock);
    code = queue_up(s, s->current, op);
    c_lock_give(&op->desc->lock);
    if (code == 0)
        s->io_waits++;
    else
        PyMem_Free(op);
    return code;
}

PyObject *i_op_run(s_sched *s, i_op *op, const c_call_site *site, int *code)
{
    long outcome = s->current->cancelled ? S_E_CANCELLED : try_first(s, op);
    if (outcome == 0) {
        outcome = begin_wait(s, op);
        if (outcome == 0) {
            *code = S_OK;
            return s_suspend(s, site);
        }
    }
    PyObject *result = outcome > 0 ? op->way->result(s, op) : NULL;
    *code = outcome > 0 ? S_OK : (int)outcome;
    if (outcome == S_E_DESCRIPTOR && op->way->iterates)
        *code = S_OK;
    Py_XDECREF(op->object);
    return result;
}

/* ---- going on ------------------------------------------------------------------------ */

static s_tasklet *first_of(const s_sched *s, b_link *queue)
{
    for (b_link *at = queue->next; at != queue; at = at->next) {
        if (s_of_link(at)->owner == s)
            return s_of_link(at);
    }
    return NULL;
}

/* Does what the first waiter waits for, if it can be done now: then that is claimed. */
static s_tasklet *advance(s_sched *s, i_desc *d, unsigned what, long *outcome)
{
    s_tasklet *t = first_of(s, i_desc_queue(d, what));
    *outcome = t == NULL || is_dry(s, d, what) ? 0 : attempt(s, t->on);
    if (*outcome == 0)
        return NULL;
    s_dequeue(&t->wait.link);
    return t;
}

static void serve(s_sched *s, uint64_t tag, unsigned what)
{
    i_desc *d = i_desc_of_tag(tag);
    s_tasklet *t;
    do {
        long outcome = 0;
        t = NULL;
        c_lock_take(&d->lock);
        if (i_desc_tag(d) == tag)
            t = advance(s, d, what, &outcome);
        c_lock_give(&d->lock);
        if (t != NULL)
            i_op_finish(s, t, outcome);
    } while (t != NULL);
}

/* What was exhausted may not be so any more. */
static void note(s_sched *s, const p_event *event)
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

void i_reactor_ready(s_sched *s, const p_event *events, int count)
{
    for (int i = 0; i < count; i++) {
        if (i_is_external(events[i].tag)) {
            i_external_ready(s, &events[i]);
            continue;
        }
        note(s, &events[i]);
        if (events[i].what & P_READ)
            serve(s, events[i].tag, P_READ);
        if (events[i].what & P_WRITE)
            serve(s, events[i].tag, P_WRITE);
    }
}

/* ---- fork ----------------------------------------------------------------------------- */

static void fail_all(s_sched *s, i_desc *d, unsigned what, int code)
{
    s_tasklet *t;
    while ((t = first_of(s, i_desc_queue(d, what))) != NULL) {
        s_dequeue(&t->wait.link);
        i_op_finish(s, t, code);
    }
}

/* Descriptors that nobody waits for are added to the new poller when somebody does. */
static void enlist_again(s_sched *s, i_desc *d)
{
    memset(&d->lock, 0, sizeof(d->lock));
    d->where = 0;
    d->told = d->dry = 0;
    for (unsigned what = P_READ; what <= P_WRITE; what++) {
        if (first_of(s, i_desc_queue(d, what)) == NULL)
            continue;
        int code = s->polls ? enlist(s, d, what) : S_E_SYSTEM - EMFILE;
        if (code < 0)
            fail_all(s, d, what, code);
    }
}

void i_reactor_after_fork(s_sched *s)
{
    i_descs_after_fork();
    i_desc_for_each(s, enlist_again);
    i_external_after_fork(s);
}

void i_reactor_init(void)
{
    s_hook.io_ready = i_reactor_ready;
    s_hook.io_after_fork = i_reactor_after_fork;
}
