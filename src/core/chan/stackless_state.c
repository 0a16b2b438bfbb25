/* What a tasklet is doing by the rules of Stackless: blocked, scheduled, its neighbours.
 *
 * A caller of run() is blocked for the scheduler, but not by these rules.  A tasklet that a partner
 * on another thread has claimed is no longer blocked; the message that wakes it is on its way.
 */
#include "chan/internal.h"
#include "sched/guests/stackless_run.h"

s_tasklet *n_first_waiter(n_channel *ch)
{
    c_lock_take(&ch->lock);
    b_link *first = b_first(&ch->senders);
    if (first == NULL)
        first = b_first(&ch->receivers);
    s_tasklet *t = first != NULL ? n_wait_of(first)->task : NULL;
    Py_XINCREF((PyObject *)t);
    c_lock_give(&ch->lock);
    return t;
}

n_channel *n_channel_of(const s_tasklet *t)
{
    const s_wait_kind *kind = t->state == S_BLOCKED ? t->kind : NULL;
    return kind != NULL && kind->detach == n_sending.detach ? t->on : NULL;
}

static int is_claimed(const s_tasklet *t)
{
    return n_channel_of(t) != NULL && !t->queued;
}

int n_stackless_blocked(const s_tasklet *t)
{
    return t->state == S_BLOCKED && !s_is_run_caller(t) && !is_claimed(t);
}

int n_stackless_scheduled(const s_tasklet *t)
{
    return t->state == S_READY || t->state == S_RUNNING || n_stackless_blocked(t) || is_claimed(t);
}

/* The ring is the current tasklet followed by the run queue. */
static s_tasklet *neighbour_in_ring(const s_tasklet *t, int forward)
{
    s_sched *s = t->owner;
    const b_link *at = s->current == t ? &s->ready : &t->wait.link;
    b_link *found = forward ? at->next : at->prev;
    return found == &s->ready ? s->current : s_of_link(found);
}

static s_tasklet *neighbour_in_channel(const s_tasklet *t, int forward)
{
    const n_channel *ch = n_channel_of(t);
    if (ch == NULL || !t->queued)
        return NULL;
    b_link *link = forward ? t->wait.link.next : t->wait.link.prev;
    return link == &ch->senders || link == &ch->receivers ? NULL : n_wait_of(link)->task;
}

s_tasklet *n_stackless_neighbour(const s_tasklet *t, int forward)
{
    int running = t->state == S_RUNNING && t->owner != NULL && t->owner->current == t;
    s_tasklet *found = NULL;
    if (running || (t->state == S_READY && b_linked(&t->wait.link)))
        found = neighbour_in_ring(t, forward);
    else if (n_stackless_blocked(t))
        found = neighbour_in_channel(t, forward);
    return (s_tasklet *)Py_XNewRef((PyObject *)found);
}
