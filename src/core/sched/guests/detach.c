/* Stackless tasklets whose thread ends.
 *
 * A tasklet that no C frame holds outlives its thread: it leaves the run queue and goes to
 * `s_detached_owner`, a scheduler that never runs, until some thread adopts it.  One that waits in
 * a queue that belongs to no thread stays there; if a partner comes before a thread does, it is
 * paused with what it got.  All others, which keep a C stack or wait for their thread's own clock,
 * are killed with the native ones (s_kill_all), but once: one that goes on after that is left as it
 * is, for ever.  Dead ones go too, because the structure of an ended scheduler serves the next
 * thread.
 *
 * All leave while the other threads are stopped: no partner is about to send one to the thread that
 * ends.  What has been sent by then is read before; what comes later finds the inbox closed.
 */
#include "sched/internal.h"

typedef struct {
    s_sched *s;
    s_tasklet **found;
    Py_ssize_t count;
} departure;

static int may_outlive(const departure *d, const s_tasklet *t)
{
    return t->stackless_rules && t->owner == d->s && t->state != S_DONE &&
           (s_is_soft(t) || t->saved_as == S_NOT_STARTED);
}

/* Callers of run() are paused: nothing will wake them. */
static void pause_run_callers(departure *d)
{
    for (Py_ssize_t i = 0; i < d->count; i++) {
        s_tasklet *t = d->found[i];
        if (may_outlive(d, t) && s_is_insertable(t))
            s_leave_wait(t);
    }
}

static int may_leave_thread(const s_tasklet *t)
{
    return t->state == S_READY || t->state == S_PAUSED || s_waits_anywhere(t);
}

/* The array owns them too, so none is destroyed here. */
static void leave_thread(void *arg)
{
    departure *d = arg;
    d->s->ending = 1;
    for (Py_ssize_t i = 0; i < d->count; i++) {
        s_tasklet *t = d->found[i];
        if (!may_outlive(d, t) || !may_leave_thread(t))
            continue;
        if (t->state == S_READY)
            s_unqueue(t);
        s_registry_move(t, &s_detached_owner);
    }
}

static void detach_all(s_sched *s)
{
    departure d = {s, NULL, 0};
    if (s->current != s->main)
        return;
    s_read_inbox(s);
    d.count = s_tasklets(s, &d.found);
    pause_run_callers(&d);
    c_while_world_stopped(leave_thread, &d);
    for (Py_ssize_t i = 0; i < d.count; i++)
        Py_DECREF((PyObject *)d.found[i]);
    if (d.count >= 0)
        PyMem_RawFree(d.found);
}

static void disown_dead(void *arg)
{
    s_sched *s = arg;
    for (b_link *at; (at = b_first(&s->stackless.dead)) != NULL;) {
        b_unlink(at);
        B_CONTAINER(at, s_tasklet, all)->owner = &s_detached_owner;
    }
    s->main->owner = &s_detached_owner;
    s->main->state = S_DONE;
}

static void detach_dead(s_sched *s)
{
    Py_CLEAR(s->stackless.last_main);
    c_while_world_stopped(disown_dead, s);
    if (s->current == s->main)
        Py_CLEAR(s->current);
}

const s_guest s_detach_guest = {.thread_ending = detach_all, .thread_ended = detach_dead};
