/* The guests of the kernel, and the reports to them: see events.h. */
#include "sched/events.h"

#include "base/b_check.h"

#define MOST 12

/* Calls EVENT of each guest that has it; of those with a bit, if `t` has it too. */
#define FOR_EACH(g, event)                                                                         \
    for (const s_guest *const *at = guests, *g; (g = *at) != NULL; at++)                           \
        if (g->event != NULL)
#define FOR_ATTACHED(t, g, event)                                                                  \
    FOR_EACH(g, event)                                                                             \
    if ((t)->attached & g->bit)

int s_announcing;

/* A guest has each of them before the first scheduler is made. */
s_ended *s_report_child_ended;
s_thread_question *s_report_empty_queue;
s_thread_event *s_report_sleep, *s_report_wake;

static const s_guest *guests[MOST + 1]; /* NULL after the last */

void s_register_guest(const s_guest *guest)
{
    int count = 0;
    for (; guests[count] != NULL; count++) {
        if (guests[count] == guest)
            return;
    }
    B_CHECK(count < MOST);
    guests[count] = guest;
    if (guest->child_ended != NULL)
        s_report_child_ended = guest->child_ended;
    if (guest->queue_is_empty != NULL)
        s_report_empty_queue = guest->queue_is_empty;
    if (guest->sleep != NULL)
        s_report_sleep = guest->sleep;
    if (guest->wake != NULL)
        s_report_wake = guest->wake;
}

void s_report_leave(s_sched *s, s_tasklet *t)
{
    FOR_ATTACHED(t, g, leave)
    g->leave(s, t);
}

void s_report_enter(s_sched *s, s_tasklet *t)
{
    FOR_ATTACHED(t, g, enter)
    g->enter(s, t);
}

void s_report_undo_enter(s_sched *s, s_tasklet *t)
{
    FOR_ATTACHED(t, g, enter)
    g->leave(s, t);
}

void s_report_resume(s_sched *s, s_tasklet *t)
{
    FOR_ATTACHED(t, g, resume)
    g->resume(s, t);
}

int s_report_is_silent(const s_tasklet *t, PyObject *failure)
{
    FOR_ATTACHED(t, g, is_silent)
    {
        int answer = g->is_silent(t, failure);
        if (answer)
            return answer;
    }
    return 0;
}

void s_report_drop(s_sched *s, s_tasklet *t)
{
    FOR_ATTACHED(t, g, drop)
    g->drop(s, t);
}

int s_report_visit(s_tasklet *t, visitproc visit, void *arg)
{
    FOR_ATTACHED(t, g, visit)
    {
        int answer = g->visit(t, visit, arg);
        if (answer)
            return answer;
    }
    return 0;
}

int s_report_traced_spawn(s_sched *s, s_tasklet *t)
{
    FOR_EACH(g, traced_spawn)
    {
        return g->traced_spawn(s, t);
    }
    return 0;
}

void s_report_traced(s_sched *s, s_tasklet *t)
{
    FOR_EACH(g, traced)
    g->traced(s, t);
}

void s_report_failed(s_sched *s, s_tasklet *t, PyObject *failure)
{
    FOR_EACH(g, failed)
    g->failed(s, t, failure);
}

void s_report_main_ended(s_sched *s, s_tasklet *main, PyObject *result)
{
    FOR_EACH(g, main_ended)
    g->main_ended(s, main, result);
}

void s_report_departed(s_sched *s, s_tasklet *t)
{
    FOR_EACH(g, departed)
    g->departed(s, t);
}

void s_report_thread_begins(s_sched *s)
{
    FOR_EACH(g, thread_begins)
    g->thread_begins(s);
}

void s_report_thread_ending(s_sched *s)
{
    FOR_EACH(g, thread_ending)
    g->thread_ending(s);
}

void s_report_thread_ended(s_sched *s)
{
    FOR_EACH(g, thread_ended)
    g->thread_ended(s);
}

void s_report_announce(s_sched *s, s_tasklet *from, s_tasklet *to)
{
    FOR_EACH(g, announce)
    g->announce(s, from, to);
}

void s_report_picked(s_sched *s, s_tasklet *next)
{
    FOR_EACH(g, picked)
    g->picked(s, next);
}

s_tasklet *s_report_overdue(s_sched *s)
{
    FOR_EACH(g, overdue)
    {
        s_tasklet *next = g->overdue(s);
        if (next != NULL)
            return next;
    }
    return NULL;
}

int s_report_deadlock(s_sched *s)
{
    FOR_EACH(g, deadlock)
    {
        if (g->deadlock(s))
            return 1;
    }
    return 0;
}

void s_report_refresh(s_sched *s)
{
    FOR_EACH(g, refresh)
    g->refresh(s);
}

void s_report_moved(s_sched *s)
{
    FOR_EACH(g, moved)
    g->moved(s);
}

void s_report_hurries(s_sched *s)
{
    FOR_EACH(g, hurries)
    g->hurries(s);
}

void s_report_leave_apart(s_sched *s)
{
    FOR_EACH(g, leave_apart)
    g->leave_apart(s);
}
