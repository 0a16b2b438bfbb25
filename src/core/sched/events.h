/* What the scheduler's kernel reports to its guests: one table of events.
 *
 * The kernel (tasklets, switches, the run queue, time, messages, sleeping) is complete by itself. A
 * guest adds something that a tasklet or a thread may have: trace functions, an event loop, the
 * identity of a thread, groups, time slices, the Stackless API.  A guest calls the kernel; the
 * kernel reports what happens to the guests that want it and knows none of them by name.
 *
 * A guest is a constant table with the functions for its events; NULL: not interested.  Guests
 * register at import, once, and hear of an event in that order.
 *
 * Cost.  Nothing here is on the way of a soft switch.  What a tasklet has of guests is a bit in
 * t->attached, so that the end of one without any costs a single test.
 *
 * All functions run on the scheduler's thread, attached.  Where the comment does not say that
 * Python code may run, it must not.
 */
#ifndef LOOMLET_SCHED_EVENTS_H
#define LOOMLET_SCHED_EVENTS_H

#include "sched/sched.h"

/* What a tasklet may have of a guest: bits of t->attached. */
enum { S_HAS_TRACE = 1, S_HAS_LOOP = 2, S_HAS_IDENTITY = 4 };

typedef struct s_guest {
    unsigned char
        bit; /* of t->attached; the events of the first group come to those that have it */

    /* `t` stops running by a switch of the slow way; the next one is chosen. */
    void (*leave)(s_sched *s, s_tasklet *t);
    /* `t` is about to run after such a switch. */
    void (*enter)(s_sched *s, s_tasklet *t);
    /* `t` runs again, on the C stack that it kept. */
    void (*resume)(s_sched *s, s_tasklet *t);
    /* `t` has ended and is still current, or it will not run again.  `s`: the caller's, may be
     * NULL.  Python code may run. */
    void (*drop)(s_sched *s, s_tasklet *t);
    int (*visit)(s_tasklet *t, visitproc visit, void *arg);

    /* The thread gets its scheduler.  Python code may run. */
    void (*begin)(s_sched *s);
    /* The run queue has chosen `next` the slow way (s_picks); s->current is s->idler when a
     * tasklet has ended before.  Python code may run. */
    void (*picked)(s_sched *s, s_tasklet *next);
} s_guest;

/* At import.  The table lives for ever. */
void s_register_guest(const s_guest *guest);

void s_report_leave(s_sched *s, s_tasklet *t);
void s_report_enter(s_sched *s, s_tasklet *t);
void s_report_resume(s_sched *s, s_tasklet *t);
void s_report_drop(s_sched *s, s_tasklet *t);
int s_report_visit(s_tasklet *t, visitproc visit, void *arg);
void s_report_begin(s_sched *s);
void s_report_picked(s_sched *s, s_tasklet *next);

#endif
