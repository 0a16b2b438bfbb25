/* The pools of threads that the io room uses, and their policies.  How a pool works:
 * plat/work_pool.h. */
#ifndef LOOMLET_IO_POOLS_H
#define LOOMLET_IO_POOLS_H

#include "plat/work_pool.h"
#include "sched/sched.h"

/* Calls of Python functions (blocking.h), and name lookups (resolver.h). */
typedef enum { I_CALLS, I_LOOKUPS } i_pool_kind;
extern p_pool i_pools[];

/* Submits work to a pool: 0, or S_E_NO_THREAD, S_E_MEMORY, S_E_EXITING: nothing has happened.
 * Attached. */
int i_pool_submit(i_pool_kind kind, p_work *work);
/* On a thread of I_CALLS, which holds the GIL only between the two. */
void i_pool_attach(void);
void i_pool_detach(void);

#endif
