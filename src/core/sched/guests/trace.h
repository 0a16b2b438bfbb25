/* Trace and profile functions of each tasklet: see trace.c. */
#ifndef LOOMLET_SCHED_TRACE_H
#define LOOMLET_SCHED_TRACE_H

#include "sched/types.h"

/* Its trace or profile function (C_TRACE, C_PROFILE): borrowed, or NULL. */
PyObject *s_trace_of(const s_tasklet *t, int which);
/* Sets that of a tasklet that does not run: 0 or S_E_. */
int s_trace_set(s_sched *s, s_tasklet *t, int which, PyObject *function);

#endif
