/* The handover between a channel and its waiters, inline: it is the whole cost of a message that
 * finds its partner.  All of it runs under the channel's lock but for n_set_outcome. */
#ifndef LOOMLET_CHAN_HANDOVER_H
#define LOOMLET_CHAN_HANDOVER_H

#include "chan/internal.h"

/* Takes the first waiter that can still be claimed out of a queue. */
static inline s_wait *n_claim_waiter(b_link *queue)
{
    for (;;) {
        b_link *link = b_first(queue);
        if (link == NULL)
            return NULL;
        s_wait *wait = n_wait_of(link);
        if (B_LIKELY(!n_is_case(wait))) {
            s_dequeue(link);
            return wait;
        }
        if (n_select_claim(wait)) {
            b_unlink(link);
            return wait;
        }
        b_unlink(link);
        n_select_forget(wait);
    }
}

/* Makes the call of a claimed waiter return `value` (stolen) or raise `error` (stolen); the tasklet
 * to wake. */
static inline s_tasklet *n_set_outcome(s_wait *wait, PyObject *value, PyObject *error)
{
    if (B_UNLIKELY(n_is_case(wait)))
        return n_select_set_outcome(wait, value, error);
    s_tasklet *t = wait->task;
    wait->value = value;
    t->error = error;
    return t;
}

int n_buffer_grow(n_channel *ch);

static inline int n_buffer_put(n_channel *ch, PyObject *value)
{
    if (ch->count == ch->room && n_buffer_grow(ch) < 0)
        return S_E_MEMORY;
    Py_ssize_t at = ch->first + ch->count;
    ch->items[at >= ch->room ? at - ch->room : at] = value;
    ch->count++;
    return S_OK;
}

static inline PyObject *n_buffer_get(n_channel *ch)
{
    PyObject *value = ch->items[ch->first];
    if (++ch->first == ch->room)
        ch->first = 0;
    ch->count--;
    return value;
}

/* Send and receive without waiting: 1 done, 0 would block, negative code.  *partner is a claimed
 * waiter or NULL. */

static inline int n_give(n_channel *ch, PyObject *value, s_wait **partner)
{
    *partner = NULL;
    if (B_UNLIKELY(ch->closed))
        return S_E_CLOSED;
    if ((*partner = n_claim_waiter(&ch->receivers)) != NULL)
        return 1;
    if (ch->count < ch->capacity) {
        int code = n_buffer_put(ch, value);
        if (code < 0)
            return code;
        Py_INCREF(value);
        return 1;
    }
    return 0;
}

static inline int n_take(n_channel *ch, PyObject **value, s_wait **partner)
{
    *partner = NULL;
    if (ch->count > 0) {
        *value = n_buffer_get(ch);
        if ((*partner = n_claim_waiter(&ch->senders)) != NULL) {
            n_buffer_put(ch, (*partner)->value);
            (*partner)->value = NULL;
        }
        return 1;
    }
    if ((*partner = n_claim_waiter(&ch->senders)) != NULL) {
        *value = (*partner)->value;
        (*partner)->value = NULL;
        return 1;
    }
    return ch->closed ? S_E_CLOSED : 0;
}

#endif
