/* What the files of this room share and nobody else sees. */
#ifndef LOOMLET_SCHED_INTERNAL_H
#define LOOMLET_SCHED_INTERNAL_H

#include "base/b_check.h"
#include "sched/inbox.h"
#include "sched/sched.h"

#define SCRIBBLE 0xDB /* what torture fills memory with */
#define PICKS 61      /* between two looks at the clock and the mail */

void s_chunk_outgrown(s_tasklet *t);
/* Frees what an execution is kept in: data stack and context. */
void s_free_state(s_tasklet *t);
void s_stacks_trim(s_sched *s);
void s_become_idle(s_sched *s);
/* What stood behind `place` in the run queue comes first from now on. */
static inline void s_rotate_queue(s_sched *s, b_link *place)
{
    if (place == &s->ready)
        return;
    b_unlink(&s->ready);
    b_insert_after(place, &s->ready);
}
/* What the wait of a tasklet owns goes, which another thread has ended. */
static inline void s_arrive(s_tasklet *t)
{
    if (t->kind != NULL && t->kind->arrived != NULL)
        t->kind->arrived(t);
}
/* Who claimed it, on another thread, gave it something: it is at home now, and goes on. */
static inline void s_wake_arrived(s_sched *s, s_tasklet *t)
{
    const s_wait_kind *given = t->kind != NULL ? t->kind->given : NULL;
    s_arrive(t);
    s_wake(s, t);
    t->kind = given;
}
/* An exception comes before `t` has run again: what it was woken with goes.  A kind that wants
 * to be told woke it with True, and whoever makes it ready later has another value or kind. */
static inline void s_refuse(s_sched *s, s_tasklet *t)
{
    const s_wait_kind *kind = t->kind;
    int unseen = t->wait.value == Py_True;
    Py_CLEAR(t->wait.value);
    if (unseen && kind != NULL && kind->refused != NULL)
        kind->refused(s, t);
}
/* Takes a ready tasklet out of the run queue: paused, our reference gone. */
void s_unqueue(s_tasklet *t);
/* Tells s_hook.switching of a switch; of the first pick after a tasklet's end. */
void s_tell_switch(s_sched *s, s_tasklet *from, s_tasklet *to);
void s_tell_departed(s_sched *s, s_tasklet *to);
/* Puts a new tasklet on the roll of `s`. */
uint64_t s_new_id(void);
void s_registry_add(s_sched *s, s_tasklet *t);
/* Of a Stackless tasklet that has ended: into the list of those of its home. */
void s_registry_add_dead(s_tasklet *t);
/* A held tasklet is paused at home from now on: 0 or S_E_THREAD. */
int s_begin_run(s_tasklet *t);
/* While all other threads are stopped. */
void s_registry_move(s_tasklet *t, s_sched *to);
/* Of an unreachable tasklet that no C frame holds. */
void s_adopt(s_sched *s, s_tasklet *t);
/* At the end of a thread: its Stackless tasklets that no C frame holds, and its dead ones. */
void s_detach_all(s_sched *s);
void s_detach_dead(s_sched *s);

/* Who has held the core for long: held.c.  `now` is s->coarse_now; what t->since shall be. */
uint32_t s_note_interval(s_sched *s, const s_tasklet *t, uint32_t now);
/* The current tasklet leaves the core.  The load is a plain one, so that the next tasklet's
 * time is not loaded again. */
static B_INLINE void s_end_interval(s_sched *s, s_tasklet *t)
{
    uint32_t now = s->coarse_now;
    if (B_UNLIKELY(now - t->since >= s->notice))
        now = s_note_interval(s, t, now);
    t->since = now;
}
void s_intervals_init(s_sched *s);
/* Around a sleep of the thread. */
void s_intervals_sleep(s_sched *s);
void s_intervals_wake(s_sched *s);
/* The current tasklet goes on without having been left. */
void s_interval_continue(s_sched *s, s_tasklet *t);

/* Descriptors: the poller is looked at now, or if that was long ago; slept in; given up. */
int s_poll_now(s_sched *s);
void s_poll_if_due(s_sched *s);
void s_poll_sleep(s_sched *s, int64_t until);
void s_poll_end(s_sched *s);
void s_poll_after_fork(s_sched *s, int is_mine);

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
