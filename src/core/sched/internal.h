/* What the files of this room share and nobody else sees. */
#ifndef LOOMLET_SCHED_INTERNAL_H
#define LOOMLET_SCHED_INTERNAL_H

#include "base/b_check.h"
#include "sched/sched.h"

#define SCRIBBLE 0xDB /* what torture fills memory with */
#define PICKS 61      /* between two looks at the clock and the mail */

void s_outgrown(s_tasklet *t);
void s_adopt(s_sched *s, s_tasklet *t);
s_sched *s_sched_of_thread(unsigned long thread_id);
void s_stacks_trim(s_sched *s);
void s_become_idle(s_sched *s);
void s_tell_main(s_sched *s, PyObject *error);

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

#endif
