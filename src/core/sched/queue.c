/* The run queue: who runs next, and how a tasklet gets back into it.
 *
 * First in, first out.  The clock, the mail and descriptors are looked at when the
 * queue is empty and after every 61 picks, so that a busy queue cannot hold back
 * timers, other threads or peers.  With a seed the next one is picked at random instead, the
 * same every time for the same seed: what tests explore orders with.
 *
 * While the slow path runs, Python code may be called (timers, signals, error
 * objects, destructors).  The tasklet that is about to stop is queued already,
 * so that code must not switch: `trap` is up.
 */
#include "sched/events.h"
#include "sched/guests/stackless_run.h"
#include "sched/internal.h"

static uint64_t next_random(s_sched *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random;
}

static b_link *random_link(s_sched *s)
{
    uint64_t count = 0;
    for (b_link *at = s->ready.next; at != &s->ready; at = at->next)
        count++;
    b_link *at = s->ready.next;
    for (uint64_t skip = count ? next_random(s) % count : 0; skip > 0; skip--)
        at = at->next;
    return at;
}

static s_tasklet *pick(s_sched *s)
{
    b_link *link = b_first(&s->ready);
    if (link == NULL)
        return NULL;
    if (B_UNLIKELY(s->random)) {
        s->budget = 1;
        link = random_link(s);
    }
    b_unlink(link);
    return s_of_link(link);
}

s_tasklet *s_next_slow(s_sched *s)
{
    s_tasklet *next;
    s->trap++;
    do {
        s->budget = s->picks;
        s->coarse_now = s_coarse_ms(p_now_coarse());
        if (s->leaving != NULL && s->leaving != s->current)
            Py_CLEAR(s->leaving);
        s_read_inbox(s);
        if (b_heap_first(&s->timers) != NULL)
            s_timers_fire(s);
        if (B_UNLIKELY(s->io_waits > 0) && !b_list_empty(&s->ready))
            s_poll_if_due(s);
        if (s->spares)
            s_stacks_trim(s);
        next = B_UNLIKELY(s->picks == 1) ? s_run_overdue(s) : NULL;
        if (next == NULL)
            next = pick(s);
        if (next == NULL && !s_run_wake_caller(s))
            s_idle(s);
    } while (next == NULL);
    if (B_UNLIKELY(s->picks == 1))
        s_report_picked(s, next);
    s->trap--;
    return next;
}

static void wake_here(s_sched *s, s_tasklet *t)
{
    t->kind = NULL;
    s_deadline_drop(s, t);
    s_ready(s, t);
}

/* 0 when that thread has ended: then the tasklet is nobody's. */
static int send_home(s_sched *home, s_tasklet *t)
{
    p_lock_take(&home->inbox_lock);
    int closed = home->closed;
    if (!closed) {
        b_append(&home->woken, &t->wait.link);
        __atomic_store_n(&home->has_messages, 1, __ATOMIC_SEQ_CST);
    }
    p_lock_give(&home->inbox_lock);
    return !closed;
}

s_sched *s_wake_on_owner(s_tasklet *t)
{
    s_sched *home = t->owner;
    if (send_home(home, t))
        return home;
    s_arrive(t);
    t->kind = NULL;
    t->state = S_PAUSED;
    Py_DECREF((PyObject *)t);
    return NULL;
}

void s_wake_slow(s_sched *s, s_tasklet *t)
{
    if (t->owner == s) {
        wake_here(s, t);
        return;
    }
    s_sched *home = s_wake_on_owner(t);
    if (home != NULL)
        s_wake_thread(home);
}

int s_interrupt(s_sched *s, s_tasklet *t, PyObject *error)
{
    if (t->state != S_BLOCKED || !t->kind->detach(t)) {
        Py_XDECREF(error);
        return 0;
    }
    Py_CLEAR(t->wait.value);
    Py_XSETREF(t->error, error);
    s_wake(s, t);
    return 1;
}

static int length(const b_link *queue)
{
    int count = 0;
    for (b_link *at = queue->next; at != NULL && at != queue; at = at->next)
        count++;
    return count;
}

/* What is told to end may wait here again: then it stays. */
void s_forget_waiters(b_link *queue)
{
    for (int count = length(queue); count > 0 && !b_list_empty(queue); count--) {
        s_tasklet *t = B_CONTAINER(queue->next, s_wait, link)->task;
        if (!t->kind->detach(t))
            break;
        t->state = S_PAUSED;
        t->kind = NULL;
        Py_DECREF((PyObject *)t);
    }
}
