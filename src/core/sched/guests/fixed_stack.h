/* One tasklet of a thread may have a C stack that other code keeps addresses of. */
#ifndef LOOMLET_SCHED_FIXED_STACK_H
#define LOOMLET_SCHED_FIXED_STACK_H

#include "sched/types.h"

/* The current tasklet stays on the C stack that it runs on, until it ends, and no other one of this
 * thread may do so: 1; or 0: another one does. */
int s_claim_fixed_stack(s_sched *s);
/* The current tasklet stays on the C stack that it runs on, until it ends; so may others. */
void s_set_fixed_stack(s_sched *s);
/* `t` has left that stack for good, and lives on. */
void s_lose_fixed_stack(s_sched *s, s_tasklet *t);
/* Whether s_claim_fixed_stack would refuse the current tasklet. */
static inline int s_fixed_stack_is_taken(const s_sched *s)
{
    return s->fixed_stack_of != 0 && s->fixed_stack_of != s->current->id;
}

#endif
