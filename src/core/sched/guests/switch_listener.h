/* The callback of every switch, and the trap against switches (Stackless API): see
 * switch_listener.c. */
#ifndef LOOMLET_SCHED_SWITCH_LISTENER_H
#define LOOMLET_SCHED_SWITCH_LISTENER_H

#include "sched/types.h"

/* From now on `switching` is called when a thread is about to switch from one tasklet (NULL: the
 * thread begins) to another; never `to` from itself.  NULL: no longer. */
void s_listen(void (*switching)(s_sched *s, s_tasklet *from, s_tasklet *to));
/* Adds to the level of switch_trap(); returns the old level. */
int s_switch_trap(s_sched *s, int change);

#endif
