/* The guests of the kernel, and the reports to them: see events.h. */
#include "sched/events.h"

#include "base/b_check.h"

#define MOST 12

static const s_guest *guests[MOST + 1]; /* NULL behind the last */

#define EACH_GUEST(g) (const s_guest **at = guests, *g; (g = *at) != NULL; at++)

void s_register_guest(const s_guest *guest)
{
    int count = 0;
    for (; guests[count] != NULL; count++) {
        if (guests[count] == guest)
            return;
    }
    B_CHECK(count < MOST);
    guests[count] = guest;
}

void s_report_leave(s_sched *s, s_tasklet *t)
{
    for
        EACH_GUEST(g)
        {
            if (t->attached & g->bit && g->leave != NULL)
                g->leave(s, t);
        }
}

void s_report_enter(s_sched *s, s_tasklet *t)
{
    for
        EACH_GUEST(g)
        {
            if (t->attached & g->bit && g->enter != NULL)
                g->enter(s, t);
        }
}

void s_report_resume(s_sched *s, s_tasklet *t)
{
    for
        EACH_GUEST(g)
        {
            if (t->attached & g->bit && g->resume != NULL)
                g->resume(s, t);
        }
}

void s_report_drop(s_sched *s, s_tasklet *t)
{
    for
        EACH_GUEST(g)
        {
            if (t->attached & g->bit)
                g->drop(s, t);
        }
}

int s_report_visit(s_tasklet *t, visitproc visit, void *arg)
{
    for
        EACH_GUEST(g)
        {
            int stop = t->attached & g->bit && g->visit != NULL ? g->visit(t, visit, arg) : 0;
            if (stop)
                return stop;
        }
    return 0;
}

void s_report_begin(s_sched *s)
{
    for
        EACH_GUEST(g)
        {
            if (g->begin != NULL)
                g->begin(s);
        }
}

void s_report_picked(s_sched *s, s_tasklet *next)
{
    for
        EACH_GUEST(g)
        {
            if (g->picked != NULL)
                g->picked(s, next);
        }
}
