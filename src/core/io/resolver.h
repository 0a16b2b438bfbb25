/* Name lookups: made on a thread without Python while the tasklet waits.
 *
 * The C library's getaddrinfo blocks and needs nothing of Python, so each lookup is a work item of
 * the pool I_LOOKUPS (pools.h): a thousand lookups neither compete for the GIL nor wake a thread
 * each.  The result is sent back as a completion (sched/inbox.h), and is made into Python objects
 * by the tasklet's scheduler.
 *
 * Ownership.  The pool owns a lookup until its completion is handled; the tasklet only points to
 * it.  `waiter` belongs to the tasklet's scheduler: an interrupted tasklet clears it, and the
 * result is dropped.  The worker reads `waiter` once, to skip a lookup whose tasklet no longer
 * waits, and touches no other part of the tasklet.
 *
 * Fork.  In the child no lookup is on its way: tasklets that wait for one get an error.
 *
 * Threads.  The caller's, attached.  The wait is soft, like every other.
 */
#ifndef LOOMLET_IO_RESOLVER_H
#define LOOMLET_IO_RESOLVER_H

#include "sched/sched.h"

/* What is looked up, as the C library takes it. */
typedef struct {
    const char *host, *service; /* or NULL; copied */
    int kind[4];                /* family, type, protocol, flags */
    PyObject *asked;            /* the host as it was given: what a dump shows */
} i_resolve_query;

/* The list that socket.getaddrinfo returns (new), while the current tasklet waits; or NULL and
 * *code as in io.h. */
PyObject *i_resolve(s_sched *s, const i_resolve_query *query, const c_call_site *site, int *code);
/* How many threads are making lookups, including those that no tasklet waits for. */
int i_resolver_busy(void);
/* In the child of a fork. */
void i_resolver_after_fork(s_sched *s);

#endif
