/* run() of the native API: see run.c.  Both on the scheduler's own thread. */
#ifndef LOOMLET_SCHED_RUN_H
#define LOOMLET_SCHED_RUN_H

#include "sched/events.h"

/* The current tasklet enters run(): 0, or S_E_NESTED inside a run() or outside the main tasklet. */
int s_run_begin(s_sched *s);
/* Ends every other tasklet of the thread and leaves run(), unless that has been done: 0 or S_E_. */
int s_run_end(s_sched *s);
/* Calls func(*args) as main, the current tasklet, on a stack of ours: the result, or NULL and a
 * code.  Both borrowed.  The first two arguments are the program's function and a tuple of its
 * arguments: s_bind_main() puts others there. */
PyObject *s_run_main(s_sched *s, PyObject *func, PyObject *args, int *code);
/* Gives the thread's main, which waits, a new function with these arguments (borrowed): it is
 * paused, and what stood on its old stack will not run on.  0, S_E_BLOCKED when it runs or is
 * runnable, S_E_STUCK when it waits below C code or inside run(), S_E_MEMORY, S_E_SET. */
int s_bind_main(s_sched *s, PyObject *func, PyObject *args, PyObject *kwnames);
/* In the child of a fork: the thread that has called run() does not exist here. */
int s_is_run_caller_lost(const s_sched *s);

extern const s_guest s_run_guest;

#endif
