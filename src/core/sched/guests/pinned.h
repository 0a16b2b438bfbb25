/* Pinned tasklets: they run in the thread that run() was called in, and are not taken there. */
#ifndef LOOMLET_SCHED_PINNED_H
#define LOOMLET_SCHED_PINNED_H

#include "sched/types.h"

/* The current tasklet is pinned from now on, until as many s_unpin: True when it is at home.  NULL:
 * *code is S_E_AWAY, if C frames hold it elsewhere, S_E_TRAPPED or S_E_TOO_DEEP; or an exception
 * was thrown into it. */
PyObject *s_pin(s_sched *s, const c_call_site *site, int *code);
/* S_OK, or S_E_NOT_PINNED. */
int s_unpin(s_tasklet *t);

#endif
