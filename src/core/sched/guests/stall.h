/* A tasklet that was asked to stop and did not: what the monitor thread (preempt.c) knows of it.
 *
 * The reports are made by a room above (debug/stall_report.c), which hangs its functions in here.
 */
#ifndef LOOMLET_SCHED_STALL_H
#define LOOMLET_SCHED_STALL_H

#include "sched/sched.h"

/* What is known of one scheduler's stall.  All zero: there is none. */
typedef struct {
    int64_t began; /* atomic: since when that tasklet has run without stopping; 0: no stall */
    int64_t report_at;
    const s_sched *s;
    const s_tasklet *running;
    int is_due;
    char library[P_LIBRARY_NAME]; /* C code below the tasklet for which it is not interrupted */
} s_stall;

/* All three on the monitor thread, without locks, but for after_fork.  NULL: no reports. */
typedef struct {
    /* When a stall that began at `since` is to be reported; S_FOREVER: never. */
    int64_t (*report_time)(int64_t since);
    /* Reports the stall if that is due. */
    void (*report)(s_stall *stall, int64_t now);
    /* In the child of a fork. */
    void (*after_fork)(void);
} s_stall_hooks;
extern s_stall_hooks s_stall_hook;

/* The monitor thread finds that `t` of `s` has run since `since` and does not stop. */
void s_stall_note(s_stall *stall, const s_sched *s, const s_tasklet *t, int64_t since, int64_t now);
/* The tasklet has stopped, or could have.  Any thread. */
static inline void s_stall_over(s_stall *stall)
{
    __atomic_store_n(&stall->began, 0, __ATOMIC_RELAXED);
}

#endif
