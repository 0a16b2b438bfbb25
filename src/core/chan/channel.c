/* send, receive, close: see chan.h for the rules. */
#include "chan/handover.h"

/* ---- waiting ---------------------------------------------------------------- */

static c_lock *channel_lock(const s_tasklet *t)
{
    return &((n_channel *)t->on)->lock;
}

static int leave_channel(s_tasklet *t)
{
    return s_leave_queue(t, channel_lock(t));
}

static int channel_target(const s_tasklet *t, int i, s_target *found)
{
    n_channel *ch = t->on;
    found->object = (PyObject *)ch;
    found->name = ch->name;
    return i == 0;
}

#define KIND(word, is_stackless)                                                                   \
    {.name = word,                                                                                 \
     .detach = leave_channel,                                                                      \
     .target = channel_target,                                                                     \
     .anywhere = 1,                                                                                \
     .lock = channel_lock,                                                                         \
     .stackless = is_stackless}

const s_wait_kind n_sending = KIND("send", 0), n_stackless_sending = KIND("send", 1);
const s_wait_kind n_receiving = KIND("receive", 0), n_stackless_receiving = KIND("receive", 1);
const s_wait_kind n_iterating = KIND("iterate", 0), n_stackless_iterating = KIND("iterate", 1);

/* ---- the buffer ---------------------------------------------------------------- */

int n_buffer_grow(n_channel *ch)
{
    Py_ssize_t room = ch->room ? ch->room * 2 : 8;
    if (room > ch->capacity)
        room = ch->capacity;
    PyObject **items = c_malloc((size_t)room * sizeof(*items));
    if (items == NULL)
        return S_E_MEMORY;
    for (Py_ssize_t i = 0; i < ch->count; i++)
        items[i] = ch->items[(ch->first + i) % ch->room];
    PyMem_Free(ch->items);
    ch->items = items;
    ch->room = room;
    ch->first = 0;
    return S_OK;
}

/* ---- send and receive ------------------------------------------------------------------ */

/* The handover is done: the actor continues, or the partner runs first.  The call of the actor
 * returns `mine` (stolen). */
static inline PyObject *wake_partner(s_sched *s, n_channel *ch, s_tasklet *partner, int direction,
                                     PyObject *mine, const c_call_site *site)
{
    if (B_LIKELY(ch->preference != -direction || partner->owner != s || s->trap)) {
        s_wake(s, partner);
        return mine;
    }
    partner->kind = NULL;
    s_deadline_drop(s, partner);
    return s_run_before_me_with(s, partner, mine, site);
}

static B_INLINE PyObject *send_until(s_sched *s, n_channel *ch, PyObject *value, int64_t until,
                                     const c_call_site *site, int *code)
{
    s_tasklet *me = s->current;
    s_wait *partner;
    *code = S_OK;
    if (B_UNLIKELY(me->cancelled)) {
        *code = S_E_CANCELLED;
        return NULL;
    }
    c_lock_take(&ch->lock);
    int done = n_give(ch, value, &partner);
    if (done == 0 && (done = s_begin_wait(s, until, S_E_TIMEOUT)) == S_OK) {
        me->wait.value = Py_NewRef(value);
        s_enqueue(me, &ch->senders, &n_sending, ch);
        c_lock_give(&ch->lock);
        return s_suspend(s, site);
    }
    c_lock_give(&ch->lock);
    if (B_UNLIKELY(done < 0)) {
        *code = done;
        return NULL;
    }
    if (partner == NULL)
        return c_new_none();
    s_tasklet *t = n_set_outcome(partner, Py_NewRef(value), NULL);
    return wake_partner(s, ch, t, 1, c_new_none(), site);
}

PyObject *n_send(s_sched *s, n_channel *ch, PyObject *value, const c_call_site *site, int *code)
{
    return send_until(s, ch, value, S_FOREVER, site, code);
}

PyObject *n_send_until(s_sched *s, n_channel *ch, PyObject *value, int64_t until,
                       const c_call_site *site, int *code)
{
    return send_until(s, ch, value, until, site, code);
}

static B_INLINE PyObject *receive_until(s_sched *s, n_channel *ch, int64_t until,
                                        const c_call_site *site, int *code)
{
    s_tasklet *me = s->current;
    s_wait *partner;
    PyObject *value;
    *code = S_OK;
    if (B_UNLIKELY(me->cancelled)) {
        *code = S_E_CANCELLED;
        return NULL;
    }
    c_lock_take(&ch->lock);
    int done = n_take(ch, &value, &partner);
    if (done == 0 && (done = s_begin_wait(s, until, S_E_TIMEOUT)) == S_OK) {
        s_enqueue(me, &ch->receivers, site->kind == C_ITER ? &n_iterating : &n_receiving, ch);
        c_lock_give(&ch->lock);
        return s_suspend(s, site);
    }
    c_lock_give(&ch->lock);
    if (B_UNLIKELY(done < 0)) {
        *code = done == S_E_CLOSED && site->kind == C_ITER ? S_OK : done;
        return NULL;
    }
    if (partner == NULL)
        return value;
    s_tasklet *t = n_set_outcome(partner, c_new_none(), NULL);
    return wake_partner(s, ch, t, -1, value, site);
}

PyObject *n_receive(s_sched *s, n_channel *ch, const c_call_site *site, int *code)
{
    return receive_until(s, ch, S_FOREVER, site, code);
}

PyObject *n_receive_until(s_sched *s, n_channel *ch, int64_t until, const c_call_site *site,
                          int *code)
{
    return receive_until(s, ch, until, site, code);
}

int n_try_send(s_sched *s, n_channel *ch, PyObject *value)
{
    s_wait *partner;
    c_lock_take(&ch->lock);
    int done = n_give(ch, value, &partner);
    c_lock_give(&ch->lock);
    if (partner != NULL)
        s_wake(s, n_set_outcome(partner, Py_NewRef(value), NULL));
    return done;
}

int n_try_receive(s_sched *s, n_channel *ch, PyObject **value)
{
    s_wait *partner;
    c_lock_take(&ch->lock);
    int done = n_take(ch, value, &partner);
    c_lock_give(&ch->lock);
    if (partner != NULL)
        s_wake(s, n_set_outcome(partner, c_new_none(), NULL));
    return done;
}

/* ---- the end ---------------------------------------------------------------------------- */

/* The text of an error counts the waiters, so it is written once for all receivers: *last is the
 * error before, or NULL. */
static void end_receiver(s_sched *s, n_channel *ch, s_wait *wait, PyObject **last)
{
    PyObject *error = NULL, *closed = n_is_case(wait) ? n_select_closed(wait) : NULL;
    if (closed != NULL) {
        s_wake(s, n_set_outcome(wait, Py_NewRef(closed), NULL));
        return;
    }
    if (n_is_case(wait) || !n_iterates(wait->task)) {
        error = s_hook.error(S_E_CLOSED, *last != NULL ? *last : (PyObject *)ch);
        if (error != NULL)
            Py_XSETREF(*last, Py_NewRef(error));
        else
            error = PyErr_GetRaisedException();
    }
    s_wake(s, n_set_outcome(wait, NULL, error));
}

int n_close(s_sched *s, n_channel *ch)
{
    PyObject *last = NULL;
    for (;;) {
        c_lock_take(&ch->lock);
        ch->closed = 1;
        s_wait *wait = n_claim_waiter(&ch->receivers);
        c_lock_give(&ch->lock);
        if (wait == NULL)
            break;
        end_receiver(s, ch, wait, &last);
    }
    Py_XDECREF(last);
    return S_OK;
}

static Py_ssize_t queue_length(const b_link *queue)
{
    Py_ssize_t count = 0;
    for (b_link *at = queue->next; at != queue; at = at->next)
        count++;
    return count;
}

Py_ssize_t n_balance(n_channel *ch)
{
    c_lock_take(&ch->lock);
    Py_ssize_t balance = queue_length(&ch->senders) - queue_length(&ch->receivers);
    c_lock_give(&ch->lock);
    return balance;
}

void n_channel_init(n_channel *ch, Py_ssize_t capacity)
{
    b_list_init(&ch->senders);
    b_list_init(&ch->receivers);
    ch->capacity = capacity;
}

static int visit_queue(b_link *queue, visitproc visit, void *arg)
{
    for (b_link *at = queue->next; at != queue; at = at->next)
        Py_VISIT(n_wait_of(at)->task);
    return 0;
}

int n_channel_visit(n_channel *ch, visitproc visit, void *arg)
{
    Py_VISIT(ch->name);
    for (Py_ssize_t i = 0; i < ch->count; i++)
        Py_VISIT(ch->items[(ch->first + i) % ch->room]);
    int stop = visit_queue(&ch->senders, visit, arg);
    return stop ? stop : visit_queue(&ch->receivers, visit, arg);
}

void n_channel_clear(n_channel *ch)
{
    if (ch->senders.next == NULL)
        return;
    s_forget_waiters(&ch->senders);
    s_forget_waiters(&ch->receivers);
    while (ch->count > 0)
        Py_DECREF(n_buffer_get(ch));
    Py_CLEAR(ch->name);
}

void n_channel_free(n_channel *ch)
{
    n_channel_clear(ch);
    PyMem_Free(ch->items);
}
