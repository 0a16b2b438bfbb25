/* Pinned tasklets: one per thread may have a C stack that other code keeps addresses of. */
#ifndef LOOMLET_SCHED_PIN_H
#define LOOMLET_SCHED_PIN_H

#include "sched/types.h"

/* Pins the current tasklet to the C stack that it runs on, until it ends: 1; or 0: another tasklet
 * of this thread is pinned. */
int s_pin(s_sched *s);
/* The current tasklet stays on the C stack that it runs on, until it ends; so may others. */
void s_pin_to_stack(s_sched *s);
/* Whether s_pin would refuse the current tasklet. */
static inline int s_pin_is_taken(const s_sched *s)
{
    return s->pinned != 0 && s->pinned != s->current->id;
}

#endif
