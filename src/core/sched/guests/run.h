/* run() of the native API: see run.c.  Both on the scheduler's own thread. */
#ifndef LOOMLET_SCHED_RUN_H
#define LOOMLET_SCHED_RUN_H

#include "sched/types.h"

/* The current tasklet enters run(): 0, or S_E_NESTED inside a run() or outside the main tasklet. */
int s_run_begin(s_sched *s);
/* Ends every other tasklet of the thread and leaves run(): 0 or S_E_. */
int s_run_end(s_sched *s);

#endif
