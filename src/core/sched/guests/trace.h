/* Trace and profile functions of each tasklet: see trace.c. */
#ifndef LOOMLET_SCHED_TRACE_H
#define LOOMLET_SCHED_TRACE_H

#include "sched/types.h"

/* The current tasklet is about to set its own: 0 or S_E_MEMORY. */
int s_trace_prepare(s_sched *s);
/* ... and has set or taken off one. */
void s_trace_update(s_sched *s);
/* Its trace or profile function (C_TRACE, C_PROFILE): borrowed, or NULL. */
PyObject *s_trace_of(const s_tasklet *t, int which);
/* Sets that of a tasklet that does not run, by set(function): 0 or S_E_. */
int s_trace_set(s_sched *s, s_tasklet *t, PyObject *(*set)(PyObject *function), PyObject *function);

#endif
