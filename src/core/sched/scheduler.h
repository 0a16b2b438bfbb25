/* The scheduler of a thread, made when it is first asked for: see scheduler.c.
 *
 * "Which scheduler am I?" is asked by these two functions and s_self_here alone; which one where:
 * handoff.c.
 */
#ifndef LOOMLET_SCHED_SCHEDULER_H
#define LOOMLET_SCHED_SCHEDULER_H

#include "sched/types.h"

/* Without a GIL a thread may be detached anywhere: an object that it frees belongs to another
 * thread, whose lock it waits for.  So an operation notes where the Python code is that has called
 * it; as long as that has not gone on, the scheduler is not taken.  Who has noted that and calls
 * other code, which may be handed over, takes it back. */
static inline void s_begin_operation(s_sched *s)
{
#if C_FREE_THREADED
    s->asked_at = c_position(s->ts);
#else
    (void)s;
#endif
}

static inline void s_leave_operation(void)
{
#if C_FREE_THREADED
    if (s_self_ != NULL)
        s_self_->asked_at = NULL;
#endif
}

/* The slow ways of the next two: a sitter meets its scheduler first (carrier.h). */
s_sched *s_self_make(void);
s_sched *s_self_met(void);

/* The calling thread's scheduler, or NULL if it has none. */
static inline s_sched *s_self_if_any(void)
{
    s_sched *s = s_self_;
    return __builtin_expect(s != NULL, 1) ? s : s_self_met();
}

/* The calling thread's scheduler; NULL with an exception set without memory. */
static inline s_sched *s_self(void)
{
    s_sched *s = s_self_;
    if (__builtin_expect(s == NULL, 0))
        return s_self_make();
    s_begin_operation(s);
    return s;
}

/* For an operation that a caller asks for which has called other code since it asked for its
 * scheduler: that code may have been handed over, and its tasklet meets the scheduler here.  It is
 * the same one. */
static inline void s_meet_again(void)
{
    s_sched *s = s_self_if_any();
    if (s != NULL)
        s_begin_operation(s);
}

/* Ends every tasklet of this scheduler but the current one; their `finally` runs. */
int s_kill_all(s_sched *s);
/* It is inside a C call for which s_kill_all does not wait: a daemon's. */
int s_is_daemon_sitter(const s_tasklet *t);
/* In the child of a fork.  0: that is done already, by the hooks of another tasklet of its that was
 * about to fork too, and let the rest of this one's wait. */
int s_after_fork(void);

#endif
