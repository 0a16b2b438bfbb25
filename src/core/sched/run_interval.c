/* Since when a tasklet runs or waits, and which one has run longest at a stretch.
 *
 * Each tasklet has the time when it began or ceased to run, and a scheduler the time as it was last
 * read: a switch copies one into the other and compares.  It is read by the slow path of the run
 * queue (with the coarse clock), around each sleep of the thread, and by the monitor thread while a
 * slice runs (guests/preempt.c), which sees to it that the time advances while a tasklet computes.
 * No thread wakes up for it.  Without slices an interval may be recorded late, by as long as one
 * tasklet ran.
 *
 * A thread sleeps inside the wait of its current tasklet.  That one has ceased to run before
 * (`idled`), and the switch that follows must not say so again: `notice` is 0 then, so that it
 * comes here.
 *
 * On the scheduler's own thread; the monitor writes `coarse_now` alone.
 *
 * Rejected: the exact clock at each switch, 20 ns of 90; a thread that counts time all the time,
 * which wakes idle machines; one count for all threads, which is in another processor core's cache.
 */
#include <stdio.h>

#include "sched/internal.h"

#define LEAST 10 /* coarse milliseconds: no shorter interval is worth a note */

static void reset_notice(s_sched *s)
{
    s->idled = 0;
    s->notice = s->longest.milliseconds < LEAST ? LEAST : s->longest.milliseconds + 1;
}

void s_intervals_init(s_sched *s)
{
    s->coarse_now = s_coarse_ms(p_now());
    reset_notice(s);
}

size_t s_peek_name(const s_tasklet *t, char *to, size_t room)
{
    if (t->name != NULL)
        return c_peek_text(t->name, to, room);
    if (t->is_main)
        return (size_t)snprintf(to, room, "main");
    PyObject *name = t->state == S_DONE ? t->func : c_function_name(t->func);
    size_t used = c_peek_text(name, to, room - 24);
    if (name == NULL)
        used = (size_t)snprintf(to, room - 24, "%s", t->func ? Py_TYPE(t->func)->tp_name : "?");
    used += (size_t)snprintf(to + used, 24, "-%llu", (unsigned long long)t->id);
    return used;
}

static void save_longest(s_sched *s, const s_tasklet *t, uint32_t milliseconds)
{
    s_run_interval *r = &s->longest;
    c_location location;
    int more, left = t->saved_as != S_LIVE || t->state != S_RUNNING; /* else it has ended */
    int found = left ? c_peek_frames(NULL, &t->c, &location, 1, &more) : 0;
    *r = (s_run_interval){.milliseconds = milliseconds, .id = t->id};
    s_peek_name(t, r->name, sizeof(r->name));
    if (found) {
        r->line = c_peek_line(&location);
        c_peek_text(c_peek_function(&location), r->function, sizeof(r->function));
        c_peek_text(c_peek_file(&location), r->file, sizeof(r->file));
    }
}

/* The coarse clock may be behind the monitor's: then there was no interval. */
B_COLD uint32_t s_note_interval(s_sched *s, const s_tasklet *t, uint32_t now)
{
    int32_t held = (int32_t)(now - t->since);
    if (s->idled) {
        now = t->since;
    } else if (held >= 0 && t != s->idler) {
        save_longest(s, t, (uint32_t)held);
    }
    reset_notice(s);
    return now;
}

void s_intervals_sleep(s_sched *s)
{
    s->coarse_now = s_coarse_ms(p_now());
    if (s->idled || s->current == s->idler)
        return;
    s_end_interval(s, s->current);
    s->idled = 1;
    s->notice = 0;
}

void s_intervals_wake(s_sched *s)
{
    s->coarse_now = s_coarse_ms(p_now());
}

void s_interval_continue(s_sched *s, s_tasklet *t)
{
    if (!s->idled)
        return;
    reset_notice(s);
    t->since = s->coarse_now;
}
