/* The run queue: see queue.c. */
#ifndef LOOMLET_SCHED_QUEUE_H
#define LOOMLET_SCHED_QUEUE_H

#include "base/b_check.h"
#include "sched/types.h"

#define S_PICKS 61 /* between two looks at the clock and the inbox */

/* The next tasklet to run, taken out of the run queue; waits for one. */
s_tasklet *s_next_slow(s_sched *s);
static inline s_tasklet *s_next(s_sched *s)
{
    if (B_LIKELY(--s->budget > 0)) {
        b_link *link = b_first(&s->ready);
        if (B_LIKELY(link != NULL)) {
            b_unlink(link);
            return s_of_link(link);
        }
    }
    return s_next_slow(s);
}

/* The current tasklet goes to the tail, also behind those that the clock, other threads or the
 * world make ready just now. */
void s_ready_after_all(s_sched *s, s_tasklet *t);

/* Takes a ready tasklet out of the run queue: paused, our reference dropped. */
void s_unqueue(s_tasklet *t);

/* What stands after `node` in the run queue comes first from now on. */
static inline void s_rotate_queue(s_sched *s, b_link *node)
{
    if (node == &s->ready)
        return;
    b_unlink(&s->ready);
    b_insert_after(node, &s->ready);
}

#endif
