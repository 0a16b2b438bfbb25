/* What the scheduler's kernel reports to its guests: one table of events.
 *
 * The kernel (tasklets, switches, the run queue, time, messages, sleeping) is complete by itself. A
 * guest adds something that a tasklet or a thread may have: trace functions, an event loop, the
 * identity of a thread, groups, time slices, the Stackless API.  A guest calls the kernel; the
 * kernel reports what happens to the guests that want it and knows none of them by name.
 *
 * A guest is a constant table with the functions for its events; NULL: not interested.  Guests
 * register at import, once, and receive an event in that order.
 *
 * Cost.  Nothing here is on the way of a soft switch.  What a tasklet has of guests is a bit in
 * t->attached, so that the end of one without any costs a single test.
 *
 * All functions run on the scheduler's thread, attached.  Python code may run in those that say so.
 */
#ifndef LOOMLET_SCHED_EVENTS_H
#define LOOMLET_SCHED_EVENTS_H

#include "sched/types.h"

/* What a tasklet may have of a guest: bits of t->attached. */
enum {
    S_HAS_TRACE = 1,
    S_HAS_LOOP = 2,
    S_HAS_IDENTITY = 4,
    S_HAS_FIBERS = 8,
    S_HAS_FIXED_STACK = 16, /* something keeps addresses of its C stack */
};
/* A tasklet with one of these is always switched hard; both may be set by a guest's resume(). */
#define S_ONLY_HARD (S_HAS_LOOP | S_HAS_FIXED_STACK)

typedef void s_ended(s_sched *s, s_tasklet *t);
typedef void s_thread_event(s_sched *s);
typedef int s_thread_question(s_sched *s);

typedef struct s_guest {
    unsigned char bit; /* of t->attached */

    /* ---- of a tasklet that has the bit ---- */

    /* `t` stops running by a switch of the slow way; the next one is chosen. */
    void (*leave)(s_sched *s, s_tasklet *t);
    /* `t` is about to run after such a switch; if it turns out that it runs in another thread
     * (carrier.c), `leave` undoes that, and it is called there. */
    void (*enter)(s_sched *s, s_tasklet *t);
    /* `t` runs again, on the C stack that it kept. */
    void (*resume)(s_sched *s, s_tasklet *t);
    /* Whether `t` may die of `failure` without a report. */
    int (*is_silent)(const s_tasklet *t, PyObject *failure);
    /* `t` has ended and is still current, or it will not run again.  `s`: the caller's, may be
     * NULL.  Python code may run. */
    void (*drop)(s_sched *s, s_tasklet *t);
    int (*visit)(s_tasklet *t, visitproc visit, void *arg);

    /* ---- of any tasklet ---- */

    /* The current tasklet has spawned `t`, by the native API, while its thread has a trace or
     * profile function: 0, or S_E_SET or S_E_MEMORY.  One guest. */
    int (*traced_spawn)(s_sched *s, s_tasklet *t);
    /* `t` stops running, by a switch of the slow way or because it has ended, while its thread has
     * such a function. */
    void (*traced)(s_sched *s, s_tasklet *t);
    /* A tasklet of the Stackless API dies of `failure`, and no tasklet joins it.  Python code may
     * run. */
    void (*failed)(s_sched *s, s_tasklet *t, PyObject *failure);
    /* `t`, which a group owns, has ended, and those that joined it are awake.  One guest. */
    s_ended *child_ended;
    /* Main's function has returned `result` or, NULL, raised, on a stack of ours.  One guest. */
    void (*main_ended)(s_sched *s, s_tasklet *main, PyObject *result);
    /* `t` has ended, while s_announcing. */
    s_ended *departed;

    /* ---- of a thread ---- */

    void (*thread_begins)(s_sched *s); /* Python code may run */
    /* It is about to end, or to kill its tasklets; then it has.  Python code may run. */
    void (*thread_ending)(s_sched *s);
    void (*thread_ended)(s_sched *s);
    /* A switch is coming, while s_announcing.  Python code may run, but nothing may switch. */
    void (*announce)(s_sched *s, s_tasklet *from, s_tasklet *to);
    /* The run queue has chosen `next` the slow way (s_picks); s->current is s->idler when a
     * tasklet has ended before.  Python code may run. */
    void (*picked)(s_sched *s, s_tasklet *next);
    /* While s->overdue: the tasklet that runs next (owned), or NULL. */
    s_tasklet *(*overdue)(s_sched *s);
    /* The run queue is empty: 1 when a tasklet that waited for that was made ready.  One guest. */
    s_thread_question *queue_is_empty;
    /* No tasklet will ever be ready: 1 when one was given an error for it. */
    int (*deadlock)(s_sched *s);
    /* All tasklets of the thread must look whether they are cancelled (s_post_refresh). */
    void (*refresh)(s_sched *s);
    /* It begins to sleep; it has woken.  One guest. */
    s_thread_event *sleep, *wake;
    /* It goes on in another OS thread (handoff.c): s->ts is that one's. */
    void (*moved)(s_sched *s);
    /* The tasklet that runs now may sit in C soon: s->hurries. */
    void (*hurries)(s_sched *s);
    /* The tasklet that runs now must leave its thread where that is soft: s_must_leave(). */
    void (*leave_apart)(s_sched *s);
} s_guest;

/* At import.  The table is never freed. */
void s_register_guest(const s_guest *guest);

/* Switches and ends of tasklets are announced.  Set by the guest that wants it, together with
 * s_slow_switches. */
extern int s_announcing;

void s_report_leave(s_sched *s, s_tasklet *t);
void s_report_enter(s_sched *s, s_tasklet *t);
void s_report_undo_enter(s_sched *s, s_tasklet *t);
void s_report_resume(s_sched *s, s_tasklet *t);
int s_report_is_silent(const s_tasklet *t, PyObject *failure);
void s_report_drop(s_sched *s, s_tasklet *t);
int s_report_visit(s_tasklet *t, visitproc visit, void *arg);
int s_report_traced_spawn(s_sched *s, s_tasklet *t);
void s_report_traced(s_sched *s, s_tasklet *t);
void s_report_failed(s_sched *s, s_tasklet *t, PyObject *failure);
/* These are called often, so each is a pointer to the guest's function: no loop over the guests. */
extern s_ended *s_report_child_ended;
extern s_thread_question *s_report_empty_queue;
extern s_thread_event *s_report_sleep, *s_report_wake;
void s_report_main_ended(s_sched *s, s_tasklet *main, PyObject *result);
void s_report_departed(s_sched *s, s_tasklet *t);
void s_report_thread_begins(s_sched *s);
void s_report_thread_ending(s_sched *s);
void s_report_thread_ended(s_sched *s);
void s_report_announce(s_sched *s, s_tasklet *from, s_tasklet *to);
void s_report_picked(s_sched *s, s_tasklet *next);
s_tasklet *s_report_overdue(s_sched *s);
int s_report_deadlock(s_sched *s);
void s_report_refresh(s_sched *s);
void s_report_moved(s_sched *s);
void s_report_hurries(s_sched *s);
void s_report_leave_apart(s_sched *s);

#endif
