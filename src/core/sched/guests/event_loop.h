/* The running event loop of asyncio of each tasklet: see event_loop.c. */
#ifndef LOOMLET_SCHED_EVENT_LOOP_H
#define LOOMLET_SCHED_EVENT_LOOP_H

#include "sched/types.h"

/* The current tasklet is about to have a running event loop: 0 or S_E_MEMORY. */
int s_event_loop_prepare(s_sched *s);
/* ... and has one now, or none any more. */
void s_event_loop_update(s_sched *s);

#endif
