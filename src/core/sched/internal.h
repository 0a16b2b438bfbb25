/* What the files of this room share and nobody else sees. */
#ifndef LOOMLET_SCHED_INTERNAL_H
#define LOOMLET_SCHED_INTERNAL_H

#include "base/b_check.h"
#include "sched/sched.h"

#define SCRIBBLE 0xDB /* what torture fills memory with */
#define PICKS 61      /* between two looks at the clock and the mail */

void s_outgrown(s_tasklet *t);
/* Frees what an execution is kept in: data stack and context. */
void s_free_state(s_tasklet *t);
void s_stacks_trim(s_sched *s);
void s_become_idle(s_sched *s);
/* Wakes `t` with `error` (stolen), whatever it waits for. */
void s_tell(s_sched *s, s_tasklet *t, PyObject *error);
/* What stood behind `place` in the run queue comes first from now on. */
static inline void s_turn(s_sched *s, b_link *place)
{
    if (place == &s->ready)
        return;
    b_unlink(&s->ready);
    b_insert_after(place, &s->ready);
}
/* Takes a ready tasklet out of the run queue: paused, our reference gone. */
void s_unqueue(s_tasklet *t);
/* Tells s_hook.switching of a switch; of the first pick after a tasklet's end. */
void s_tell_switch(s_sched *s, s_tasklet *from, s_tasklet *to);
void s_tell_departed(s_sched *s, s_tasklet *to);
/* Tasklets with trace or profile functions of their own: trace.c. */
extern int s_traces;
/* What is on in a thread that gets its scheduler may be its main tasklet's. */
void s_trace_found(s_sched *s);
void s_trace_switch(s_sched *s, s_tasklet *from, s_tasklet *to);
/* `t` has ended or will not run again; `s`: the caller's, may be NULL. */
void s_trace_drop(s_sched *s, s_tasklet *t);
/* Puts a new tasklet on the roll of `s`. */
uint64_t s_new_id(void);
void s_enroll(s_sched *s, s_tasklet *t);
/* Of a Stackless tasklet that has ended: into the list of those of its home. */
void s_bury(s_tasklet *t);
/* A held tasklet is paused at home from now on: 0 or S_E_THREAD. */
int s_begin(s_tasklet *t);
/* While all other threads are stopped. */
void s_move_roll(s_tasklet *t, s_sched *to);
/* Of an unreachable tasklet that no C frame holds. */
void s_adopt(s_sched *s, s_tasklet *t);
/* Takes no more mail. */
void s_close_mail(s_sched *s);
/* At the end of a thread: its Stackless tasklets that no C frame holds, and its dead ones. */
void s_orphan_all(s_sched *s);
void s_orphan_dead(s_sched *s);

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
