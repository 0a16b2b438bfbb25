/* What the monitor thread and the service of its requests share: see preempt_monitor.c. */
#ifndef LOOMLET_SCHED_PREEMPT_MONITOR_H
#define LOOMLET_SCHED_PREEMPT_MONITOR_H

#include "sched/guests/preempt.h"
#include "sched/guests/stall.h"

/* What shows that the same tasklet has run on. */
typedef struct {
    const s_tasklet *current;
    unsigned long switches, sleeps;
} s_progress;

enum { S_NOT_WANTED, S_WANTED, S_OVERDUE, S_WANTED_APART };

/* The preemption of one scheduler. */
typedef struct s_preempt {
    c_interrupt interrupt; /* first: the interpreter hands it back */
    s_sched *s;            /* NULL: free */
    struct s_preempt *next;

    int64_t slice; /* 0: no slices.  This and the next under samples_lock */
    int64_t sample_at, since;
    s_progress seen;
    int request;

    int wanted; /* atomic: this and the next are between the monitor and the service */
    int64_t requested_at;
    s_progress requested;
    int asked; /* at how many safepoints in turn, because it could not be left softly there */
    s_stall stall;
    int64_t preempted_at; /* by a preemption, at that count of switches */
    unsigned long preempted;
    int64_t delays[S_DELAYS];
    int delayed;
    int sleeping, unwatched;
    unsigned long sleeps, last_sleep; /* the last that the monitor has seen, and since when */
    int64_t slept_from;

    s_budget budget; /* of run(); safepoints 0: none */
    int64_t left;
    s_progress last_counted;
    int64_t slice_safepoints, slice_left; /* a slice by count; 0: none */
} s_preempt;

static inline s_progress s_progress_of(const s_preempt *p)
{
    const s_sched *s = p->s;
    return (s_progress){__atomic_load_n(&s->current, __ATOMIC_RELAXED),
                        __atomic_load_n(&s->count_soft, __ATOMIC_RELAXED) +
                            __atomic_load_n(&s->count_hard, __ATOMIC_RELAXED),
                        __atomic_load_n(&p->sleeps, __ATOMIC_RELAXED)};
}

static inline int s_is_same_progress(const s_progress *a, const s_progress *b)
{
    return a->current == b->current && a->switches == b->switches && a->sleeps == b->sleeps;
}

/* A test's order of events must not depend on the time it takes. */
static inline int s_is_simulated(const s_sched *s)
{
    return __atomic_load_n(&s->virtual_now, __ATOMIC_RELAXED) >= 0 ||
           __atomic_load_n(&s->random, __ATOMIC_RELAXED) != 0;
}

/* A free record, or a new one; NULL without memory. */
s_preempt *s_preempt_obtain(s_sched *s);
void s_preempt_release(s_preempt *p);
/* From now on the scheduler is sampled, or (0) not: S_OK, S_E_MEMORY without a thread. */
int s_monitor_set_slice(s_preempt *p, int64_t nanoseconds);
/* The scheduler is looked at now, and soon again if it hurries. */
void s_monitor_look(s_preempt *p);
/* The scheduler begins to sleep, and has woken: it is not sampled meanwhile. */
void s_monitor_sleep(s_sched *s);
void s_monitor_wake(s_sched *s);

#endif
