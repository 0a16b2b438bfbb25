/* A tasklet that holds the core, reported on stderr while it does: see report.c. */
#ifndef LOOMLET_REPORT_H
#define LOOMLET_REPORT_H

#include "sched/sched.h"

/* What is known of one scheduler's stall.  All zero: there is none. */
typedef struct {
    int64_t began; /* atomic: since when the tasklet has run that did not stop; 0: none */
    int64_t due;   /* when it is to be reported */
    const s_sched *s;
    const s_tasklet *held;
    int suspect;
} s_stall;

/* How long the core may be held until that is reported; 0: never. */
extern int64_t s_report_after;

/* The watchdog thread finds that `held` of `s` has run since `since` and does not stop. */
void s_stall_goes_on(s_stall *stall, const s_sched *s, const s_tasklet *held, int64_t since,
                     int64_t now);
/* It has stopped, or could have.  Any thread. */
static inline void s_stall_over(s_stall *stall)
{
    __atomic_store_n(&stall->began, 0, __ATOMIC_RELAXED);
}
/* Makes the report if it is due.  The watchdog thread, without locks. */
void s_stall_report(s_stall *stall, int64_t now);
void s_reports_after_fork(void);

#endif
