/* Since when, and who has held the core longest.
 *
 * Each tasklet has the time when it got or left the core, and a scheduler the time as it
 * was last looked at: a switch copies one into the other and compares.  It is looked at
 * by the slow path of the run queue (with the coarse clock), around each sleep of the
 * thread, and by the watchdog thread while a slice runs (preempt.c), which sees to it
 * that the time goes on though a tasklet computes.  No thread wakes up for it.  Without
 * slices what comes out may be late by as long as one tasklet held the core.
 *
 * A thread sleeps inside the wait of its current tasklet.  That one has left the core
 * before (`idled`), and the switch that follows must not say so again: `notice` is 0
 * then, so that it comes here.
 *
 * On the scheduler's own thread; the watchdog writes `tick` alone.
 *
 * Rejected: the exact clock at each switch, 20 ns of 90; a thread that counts time all
 * the time, which wakes idle machines; one count for all threads, which lies in another
 * core's cache.
 */
#include <stdio.h>

#include "sched/internal.h"

#define LEAST 10 /* ticks: no shorter hold is worth a note */

static void open_notice(s_sched *s)
{
    s->idled = 0;
    s->notice = s->longest.ticks < LEAST ? LEAST : s->longest.ticks + 1;
}

void s_intervals_init(s_sched *s)
{
    s->coarse_now = s_coarse_ms(p_now());
    open_notice(s);
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

static void note(s_sched *s, const s_tasklet *t, uint32_t ticks)
{
    s_run_interval *r = &s->longest;
    c_location place;
    int more, left = t->saved_as != S_LIVE || t->state != S_RUNNING; /* else it has ended */
    int found = left ? c_peek_frames(NULL, &t->c, &place, 1, &more) : 0;
    *r = (s_run_interval){.ticks = ticks, .id = t->id};
    s_peek_name(t, r->name, sizeof(r->name));
    if (found) {
        r->line = c_peek_line(&place);
        c_peek_text(c_peek_function(&place), r->function, sizeof(r->function));
        c_peek_text(c_peek_file(&place), r->file, sizeof(r->file));
    }
}

/* The coarse clock may be behind the watchdog's: such a hold is none. */
B_COLD uint32_t s_note_interval(s_sched *s, const s_tasklet *t, uint32_t now)
{
    int32_t held = (int32_t)(now - t->since);
    if (s->idled) {
        now = t->since;
    } else if (held >= 0 && t != s->idler) {
        note(s, t, (uint32_t)held);
    }
    open_notice(s);
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
    open_notice(s);
    t->since = s->coarse_now;
}
