/* Lookups: names of hosts, found on a thread without Python while the tasklet waits.
 *
 * The C library's getaddrinfo blocks and wants nothing of Python, so it is an errand
 * (plat/work_pool.c): a thousand lookups neither fight for the GIL nor wake a thread each.  What is
 * found comes home as a parcel (sched/inbox.c) and is made into objects there.
 *
 * Who owns a lookup.  The errand, from the sending until its parcel is opened; the tasklet only
 * points to it.  `waiter` belongs to the home thread: one that is interrupted takes itself out,
 * and what is found is dropped.  A lookup whose tasklet does not wait any more when its turn comes
 * is not made; its thread reads `waiter` for that, and no more of it.
 *
 * Fork.  In the child no errand is on its way: who waits for one is told.
 *
 * Threads.  The caller's, attached; on the errand's thread nothing but the lookup itself is
 * touched.  Soft like every wait of the kind.
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
PyObject *i_resolve(s_sched *s, const i_resolve_query *question, const c_call_site *site,
                    int *code);
/* In the child of a fork. */
void i_resolver_after_fork(s_sched *s);

#endif
