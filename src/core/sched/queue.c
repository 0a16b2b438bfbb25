/* The run queue: which tasklet runs next.
 *
 * First in, first out.  The clock, the inbox and descriptors are looked at when the queue is empty
 * and after every 61 picks, so that a busy queue cannot hold back timers, other threads or peers;
 * while descriptors are waited for, after fewer if the tasklets take long (poll.c).
 * With a seed the next one is picked at random instead, the same every time for the same seed: what
 * tests explore orders with.
 *
 * While the slow path runs, Python code may be called (timers, signals, error objects,
 * destructors). The tasklet that is about to stop is queued already, so that code must not switch:
 * `trap` is raised.
 */
#include "sched/carrier.h"
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

static s_tasklet *pick_ready(s_sched *s)
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

/* At the clock, the inbox, timers and descriptors.  The trap is raised. */
static B_INLINE void look_around(s_sched *s)
{
    s->budget = s->pace;
    s->coarse_now = s_coarse_ms(p_now_coarse());
    if (s->leaving != NULL && s->leaving != s->current)
        Py_CLEAR(s->leaving);
    if (B_UNLIKELY(s_settled_count > 0))
        s_failures_let_go(S_SETTLED_AT_ONCE);
    s_read_inbox(s);
    if (b_heap_first(&s->timers) != NULL)
        s_timers_fire(s);
    if (B_UNLIKELY(s->io_waits > 0) && !b_list_empty(&s->ready))
        s_poll_if_due(s);
    else if (B_UNLIKELY(s->pace < s->picks))
        s->pace = s->pace < s->picks / 2 ? 2 * s->pace : s->picks;
}

void s_ready_after_all(s_sched *s, s_tasklet *t)
{
    s_ready(s, t);
    s->trap++;
    look_around(s);
    s->trap--;
    if (t->state == S_READY && b_linked(&t->wait.link)) {
        b_unlink(&t->wait.link);
        b_append(&s->ready, &t->wait.link);
    }
}

s_tasklet *s_next_slow(s_sched *s)
{
    s_tasklet *next;
    s->trap++;
    do {
        look_around(s);
        if (s->spares)
            s_stacks_trim(s);
        if (B_UNLIKELY(s->tasklet_waits != s->tasklet_waits_seen) &&
            (int32_t)(s->coarse_now - s->rings_due) >= 0 && s_hook.find_ring != NULL)
            s_hook.find_ring(s);
        next = B_UNLIKELY(s->overdue) ? s_report_overdue(s) : NULL;
        if (next == NULL)
            next = pick_ready(s);
        if (next == NULL && !s_report_empty_queue(s)) {
            if (B_LIKELY(!s->travels) || !s_idle_is_at_home(s))
                s_idle(s);
            else if (s->io_waits == 0 || s_poll_now(s) <= 0)
                next = s->idler; /* which stands for going to the base of home */
        }
    } while (next == NULL);
    if (B_UNLIKELY(s->picks == 1) && next != s->idler)
        s_report_picked(s, next);
    s->trap--;
    return next;
}

int s_next_begins(const s_sched *s, const PyObject *func)
{
    b_link *first = b_first(&s->ready);
    return first != NULL && !s_of_link(first)->started && s_of_link(first)->func == func;
}

void s_unqueue(s_tasklet *t)
{
    b_unlink(&t->wait.link);
    t->state = S_PAUSED;
    if (t->kind != NULL && t->kind->refused == NULL && t->kind->discarded == NULL)
        t->kind = NULL;
    Py_DECREF((PyObject *)t);
}
