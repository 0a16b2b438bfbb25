/* A scheduler is taken from the thread of a tasklet that sits in C, and they meet again: see
 * sitter.c. */
#ifndef LOOMLET_SCHED_SITTER_H
#define LOOMLET_SCHED_SITTER_H

#include "sched/carrier.h"

extern const s_wait_kind s_sitting;

/* A called carrier looks whether to take the scheduler: the one that it has taken it from, or NULL.
 * With the protocol's lock. */
s_carrier_thread *s_try_take(s_carrier_thread *c);
/* The scheduler is at `c`, the calling thread, by the protocol; what runs there is to be said. */
void s_scheduler_arrived(s_carrier_thread *c);
/* From now on c->bell makes the sitter of this thread meet at its next safepoint. */
void s_hang_bell(s_carrier_thread *c);
/* The calling thread's sitter stops here, if there is one, until the scheduler is here. */
void s_meet(void);
/* Not while the call that it sits in runs a sub-interpreter, whose thread state is another one. */
static inline int s_must_meet(void)
{
    const s_carrier_thread *c = s_carrier_here_;
    return c != NULL && s_handoff_must_meet(&c->carrier) && c->ts == c_thread_state();
}
void s_meet_at_end(void);
/* Main waits until nobody sits. */
int s_await_sitters(s_sched *s);

#endif
