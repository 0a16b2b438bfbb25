/* send and receive by the rules of the Stackless API.
 *
 * The queues, the claims and the handover are those of every channel (handover.h), so tasklets of
 * both APIs may meet here.  What differs:
 *
 *   order   A partner of this thread that goes first by `preference` runs at once, and the actor
 *           goes to the end of the ring.  `schedule_all`: the partner goes to the tail, and the
 *           actor yields after it.  Otherwise the partner goes to the tail and the actor continues.
 *           A partner of another thread is only made ready there.
 *   close   A closing channel is still drained; only an action that would wait fails.
 *   bombs   A value that is a bomb is raised in the receiver.  It travels as a value while it waits
 *           in the queue and becomes the wait's `error` at the handover.
 *   traps   An action that would wait fails in a tasklet with block_trap; one that would switch
 *           fails where the scheduler is trapped.  Both are checked before anything changes, so a
 *           failed action leaves every queue as it was.
 *
 * A StopIteration for a tasklet that waits in `for` ends the loop: then there is neither value nor
 * error, as everywhere at the end of an iteration.
 *
 * The value is moved and never owned by a C variable while other tasklets may run: a soft switch
 * would leak it.
 *
 * Notification: with a listener every action takes the slower way (..._notifying), where the value
 * lies in the actor's result slot (wait.value, error) while the listener looks at it.
 */
#include "chan/handover.h"

n_hooks n_hook;

/* Empties a tasklet's result slot, which may hold what was stored there while it ran. */
static B_COLD void clear_slot(s_tasklet *t)
{
    Py_CLEAR(t->wait.value);
    Py_CLEAR(t->error);
}

static inline void empty_slot(s_tasklet *t)
{
    if (B_UNLIKELY(((uintptr_t)t->wait.value | (uintptr_t)t->error) != 0))
        clear_slot(t);
}

/* The actor's slot: not while it is queued already, with its result, and runs a callback. */
static inline void empty_own_slot(s_tasklet *me)
{
    if (B_UNLIKELY(((uintptr_t)me->wait.value | (uintptr_t)me->error) != 0) &&
        me->state == S_RUNNING)
        clear_slot(me);
}

static inline int is_bomb(PyObject *value)
{
    return B_UNLIKELY(Py_IS_TYPE(value, n_hook.bomb));
}

/* Turns a bomb (stolen) into its exception. */
static PyObject *take_exception(PyObject *bomb)
{
    PyObject *error = n_hook.explode(bomb);
    Py_DECREF(bomb);
    return error;
}

static int ends_iteration(PyObject *error)
{
    return PyErr_GivenExceptionMatches(error, PyExc_StopIteration);
}

/* Whether the handover to the first waiter of `queue` would switch. */
static int would_switch(s_sched *s, n_channel *ch, b_link *queue, int direction)
{
    b_link *first = b_first(queue);
    return (ch->schedule_all || ch->preference == -direction) && first != NULL &&
           n_wait_of(first)->task->owner == s;
}

/* Whether the current tasklet may act at all, and whether it may begin to wait. */
static inline int may_act(s_sched *s, n_channel *ch, b_link *queue, int direction)
{
    if (B_UNLIKELY(s->current->cancelled))
        return S_E_CANCELLED;
    if (B_UNLIKELY(s->trap) && would_switch(s, ch, queue, direction))
        return S_E_TRAPPED;
    return S_OK;
}

/* After may_act: it is not cancelled. */
static inline int may_wait(s_sched *s, n_channel *ch)
{
    if (B_UNLIKELY(s->current->stackless.block_trap))
        return S_E_BLOCK_TRAP;
    if (B_UNLIKELY(ch->closing))
        return S_E_CLOSED;
    return B_UNLIKELY(s->trap) ? S_E_TRAPPED : S_OK;
}

/* Claims a partner; these channels have no buffer.  1, 0 if none waits, or S_E_CLOSED if none will
 * ever come. */
static inline int find_receiver(n_channel *ch, s_wait **partner)
{
    if (B_UNLIKELY(ch->closed))
        return S_E_CLOSED;
    return (*partner = n_claim_waiter(&ch->receivers)) != NULL;
}

static inline int find_sender(n_channel *ch, PyObject **value, s_wait **partner)
{
    if ((*partner = n_claim_waiter(&ch->senders)) != NULL) {
        *value = (*partner)->value;
        (*partner)->value = NULL;
        return 1;
    }
    return B_UNLIKELY(ch->closed) ? S_E_CLOSED : 0;
}

/* schedule_partner() where the actor raises `error` (stolen), or yields after a partner that goes
 * to the tail. */
static B_COLD PyObject *schedule_oddly(s_sched *s, n_channel *ch, s_tasklet *partner, int directed,
                                       PyObject *mine, PyObject *error, const c_call_site *site)
{
    s_tasklet *me = s->current;
    if ((!directed && !ch->schedule_all) || partner->owner != s) {
        s_wake(s, partner);
        if (error != NULL) {
            PyErr_SetObject((PyObject *)Py_TYPE(error), error);
            Py_DECREF(error);
        }
        return mine;
    }
    if (error != NULL && site->kind == C_ITER && ends_iteration(error))
        Py_CLEAR(error);
    me->error = error;
    if (!ch->schedule_all) {
        partner->kind = NULL;
        s_deadline_drop(s, partner);
        return s_run_after_me_with(s, partner, mine, site);
    }
    me->wait.value = mine;
    s_wake(s, partner);
    s_ready(s, me);
    return s_suspend(s, site);
}

/* The handover is done: the actor continues, yields, or lets the partner run first.  The call of
 * the actor returns `mine` (stolen) or raises `error` (stolen). */
static B_INLINE PyObject *schedule_partner(s_sched *s, n_channel *ch, s_tasklet *partner,
                                           int direction, PyObject *mine, PyObject *error,
                                           const c_call_site *site)
{
    int directed = ch->preference == -direction;
    if (B_UNLIKELY(ch->schedule_all || error != NULL))
        return schedule_oddly(s, ch, partner, directed, mine, error, site);
    if (directed && B_LIKELY(partner->owner == s)) {
        s->current->error = NULL;
        partner->kind = NULL;
        s_deadline_drop(s, partner);
        return s_run_after_me_with(s, partner, mine, site);
    }
    s_wake(s, partner);
    return mine;
}

/* Gives a claimed receiver its value (stolen), or raises it there. */
static inline s_tasklet *deliver_value(s_wait *receiver, PyObject *value)
{
    PyObject *error = NULL;
    if (is_bomb(value)) {
        error = take_exception(value);
        value = NULL;
        if (!n_is_case(receiver) && n_iterates(receiver->task) && ends_iteration(error))
            Py_CLEAR(error);
    }
    if (!n_is_case(receiver))
        empty_slot(receiver->task);
    return n_set_outcome(receiver, value, error);
}

/* ---- send ------------------------------------------------------------------------- */

static B_INLINE PyObject *send_value(s_sched *s, n_channel *ch, PyObject *value,
                                     const c_call_site *site, int *code)
{
    s_tasklet *me = s->current;
    s_wait *partner;
    empty_own_slot(me);
    c_lock_take(&ch->lock);
    int done = may_act(s, ch, &ch->receivers, 1);
    if (B_LIKELY(done == S_OK))
        done = find_receiver(ch, &partner);
    if (done == 0 && (done = may_wait(s, ch)) == S_OK) {
        me->wait.value = value;
        s_enqueue(me, &ch->senders, &n_stackless_sending, ch);
        c_lock_give(&ch->lock);
        *code = S_OK;
        return s_suspend(s, site);
    }
    c_lock_give(&ch->lock);
    *code = done;
    if (B_UNLIKELY(done < 0)) {
        Py_DECREF(value);
        return NULL;
    }
    s_tasklet *t = deliver_value(partner, value);
    return schedule_partner(s, ch, t, 1, Py_NewRef(Py_None), NULL, site);
}

static B_COLD PyObject *send_unnoticed(s_sched *s, n_channel *ch, PyObject *value,
                                       const c_call_site *site, int *code)
{
    return send_value(s, ch, value, site, code);
}

static int notify_listener(s_sched *s, n_channel *ch, int sending, int waits)
{
    int (*listener)(s_sched *, n_channel *, int, int) = n_hook.notify; /* others may clear it */
    return listener != NULL ? listener(s, ch, sending, waits) : S_OK;
}

/* Notifies the listener before an action: 0, or 1 if it must be notified afterwards, because the
 * partner is of another thread; S_E_ code.  The value (stolen) is then in the actor's slot. */
static int notify_before(s_sched *s, n_channel *ch, b_link *queue, int sending, PyObject *value)
{
    s_tasklet *me = s->current;
    empty_slot(me);
    me->wait.value = value;
    c_lock_take(&ch->lock);
    b_link *first = b_first(queue);
    int remote = first != NULL && n_wait_of(first)->task->owner != s;
    c_lock_give(&ch->lock);
    if (remote)
        return 1;
    int code = notify_listener(s, ch, sending, first == NULL);
    if (code < 0)
        empty_slot(me);
    return code;
}

/* Steals `value`. */
static PyObject *notify_after(s_sched *s, n_channel *ch, int sending, PyObject *result,
                              PyObject *value)
{
    s_tasklet *me = s->current;
    empty_slot(me);
    me->wait.value = value;
    if (result != NULL && notify_listener(s, ch, sending, 0) < 0)
        Py_CLEAR(result);
    empty_slot(me);
    return result;
}

/* Whether a listener is notified of the current tasklet's actions: not when it runs a callback
 * while it is queued already. */
static inline int has_listener(s_sched *s)
{
    return B_UNLIKELY(n_hook.notify != NULL) &&
           (s->stackless.in_callback || s->current->state == S_RUNNING);
}

/* With a partner of another thread, the notification follows the action: if the action waits after
 * all, its switch is hard. */
static B_COLD PyObject *send_notifying(s_sched *s, n_channel *ch, PyObject *value,
                                       const c_call_site *site, int *code)
{
    s_tasklet *me = s->current;
    if (s->stackless.in_callback) {
        Py_DECREF(value);
        *code = S_E_RECURSIVE;
        return NULL;
    }
    if ((*code = notify_before(s, ch, &ch->receivers, 1, value)) < 0)
        return NULL;
    int remote = *code;
    value = me->wait.value ? me->wait.value : Py_NewRef(Py_None);
    me->wait.value = NULL;
    PyObject *shown = remote ? Py_NewRef(value) : NULL;
    PyObject *done = send_unnoticed(s, ch, value, remote ? NULL : site, code);
    return remote ? notify_after(s, ch, 1, done, shown) : done;
}

PyObject *n_stackless_send(s_sched *s, n_channel *ch, PyObject *value, const c_call_site *site,
                           int *code)
{
    if (has_listener(s))
        return send_notifying(s, ch, value, site, code);
    return send_value(s, ch, value, site, code);
}

PyObject *n_stackless_send_bomb(s_sched *s, n_channel *ch, PyObject *bomb, const c_call_site *site,
                                int *code)
{
    if (has_listener(s))
        return send_notifying(s, ch, bomb, site, code);
    return send_unnoticed(s, ch, bomb, site, code);
}

/* ---- receive ------------------------------------------------------------------------ */

static B_INLINE PyObject *receive_value(s_sched *s, n_channel *ch, const c_call_site *site,
                                        int *code)
{
    s_tasklet *me = s->current;
    s_wait *partner;
    PyObject *value, *error = NULL;
    int iterates = site->kind == C_ITER;
    empty_own_slot(me);
    c_lock_take(&ch->lock);
    int done = may_act(s, ch, &ch->senders, -1);
    if (B_LIKELY(done == S_OK))
        done = find_sender(ch, &value, &partner);
    int ended = done == 0 && iterates && ch->closing;
    if (done == 0 && !ended && (done = may_wait(s, ch)) == S_OK) {
        s_enqueue(me, &ch->receivers, iterates ? &n_stackless_iterating : &n_stackless_receiving,
                  ch);
        c_lock_give(&ch->lock);
        *code = S_OK;
        return s_suspend(s, site);
    }
    c_lock_give(&ch->lock);
    *code = done;
    if (B_UNLIKELY(done <= 0))
        return NULL;
    if (is_bomb(value)) {
        error = take_exception(value);
        value = NULL;
        *code = S_E_SET;
    }
    s_tasklet *t = n_set_outcome(partner, Py_NewRef(Py_None), NULL);
    return schedule_partner(s, ch, t, -1, value, error, site);
}

static B_COLD PyObject *receive_notifying(s_sched *s, n_channel *ch, const c_call_site *site,
                                          int *code)
{
    if (s->stackless.in_callback) {
        *code = S_E_RECURSIVE;
        return NULL;
    }
    if ((*code = notify_before(s, ch, &ch->senders, 0, NULL)) < 0)
        return NULL;
    int remote = *code;
    PyObject *value = receive_value(s, ch, site, code);
    return remote ? notify_after(s, ch, 0, value, Py_XNewRef(value)) : value;
}

PyObject *n_stackless_receive(s_sched *s, n_channel *ch, const c_call_site *site, int *code)
{
    if (has_listener(s))
        return receive_notifying(s, ch, site, code);
    return receive_value(s, ch, site, code);
}

/* ---- looking at the queue ------------------------------------------------------------- */
