/* What the files of the kernel share, and its guests use; no other room does. */
#ifndef LOOMLET_SCHED_INTERNAL_H
#define LOOMLET_SCHED_INTERNAL_H

#include "base/b_check.h"
#include "sched/events.h"
#include "sched/failure.h"
#include "sched/inbox.h"
#include "sched/queue.h"
#include "sched/run_interval.h"
#include "sched/sched.h"

#define SCRIBBLE 0xDB /* what torture fills memory with */

/* ---- registry.c ---------------------------------------------------------------------- */

uint64_t s_new_id(void);
/* Puts a new tasklet into the registry of `s`. */
void s_registry_add(s_sched *s, s_tasklet *t);
/* Moves a tasklet into the list of its owner that fits its state, or adds it there: one that has
 * ended and can be bound again, or that begins a new run. */
void s_registry_list_again(s_tasklet *t);
/* The same for one of this thread that begins a new run. */
static inline void s_registry_list_alive(s_sched *s, s_tasklet *t)
{
    if (B_UNLIKELY(!b_linked(&t->all))) {
        s_registry_list_again(t);
        return;
    }
    c_lock_take(&s->all_lock);
    b_unlink(&t->all);
    b_append(&s->all, &t->all);
    c_lock_give(&s->all_lock);
}
/* While all other threads are stopped. */
void s_registry_move(s_tasklet *t, s_sched *to);
/* The owner of an unreachable tasklet that no C frame keeps. */
void s_adopt(s_sched *s, s_tasklet *t);
/* A scheduler that is free, or a new one; NULL without memory.  Given back at the thread's end. */
s_sched *s_obtain_scheduler(void);
void s_return_scheduler(s_sched *s);
/* In the child of a fork: none but `mine` lives. */
void s_registry_after_fork(s_sched *mine);

/* ---- tasklet.c, stack_cache.c -------------------------------------------------------- */

void s_chunk_outgrown(s_tasklet *t);
/* What a join of the ended `t` returns or raises, as what `joiner` is woken with. */
void s_hand_outcome(s_tasklet *joiner, s_tasklet *t, int want_result);
/* `t` will call func(*args) when it runs next, on a data stack of its own, and has no context: 0 or
 * S_E_. */
int s_call_init(PyThreadState *ts, s_tasklet *t, PyObject *func, PyObject *args, PyObject *kwnames);
/* The same, with a copy of the context of `ts`, the caller's thread. */
int s_make_call(PyThreadState *ts, s_tasklet *t, PyObject *func, PyObject *args, PyObject *kwnames);
/* Frees what an execution is kept in: data stack and context. */
void s_free_state(s_tasklet *t);
/* A suspended tasklet without C frames is as if it had not started: its frames are dropped, as by
 * c_discard_frames.  It passes for running meanwhile. */
void s_forget_frames(s_sched *s, s_tasklet *t);
/* One that can be bound again keeps nothing of a run but the name of its function. */
static inline void s_forget_run(s_tasklet *t)
{
    s_failure_forget(t);
    Py_CLEAR(t->result);
    Py_CLEAR(t->failure);
    t->cancelled = t->owned = t->due = t->round = t->pinned = 0;
}

/* The base of the C stack that runs; NULL: the thread's own, whose base is the thread's. */
static inline const void *s_stack_base(const s_sched *s)
{
    return s->stack == &s->own_stack ? NULL : s->stack;
}

/* The C stack that runs, `stack`, is left; what is returned, if not NULL, is for
 * p_stack_words_restore when it resumes. */
static inline p_stack_words *s_stack_words_of(const s_sched *s, const p_stack *stack)
{
    if (__builtin_expect(__atomic_load_n(&p_stack_words_wanted, __ATOMIC_RELAXED), 0))
        return p_stack_words_save(stack == &s->own_stack ? NULL : stack);
    return NULL;
}

static inline p_stack_words *s_stack_words_save(const s_sched *s)
{
    return s_stack_words_of(s, s->stack);
}

/* The current tasklet runs on `fresh` from now on, as its state says; returns when it continues on
 * the stack that it has now, with what it was woken with.  `kept` is of c_hard_suspend.  switch.c
 */
PyObject *s_leave_stack(s_sched *s, s_tasklet *me, p_stack *fresh, c_hard_state *kept);

p_stack *s_stack_take(s_sched *s);
void s_stack_give(s_sched *s, p_stack *stack);
void s_stacks_trim(s_sched *s);
void s_become_idle(s_sched *s);
/* A claimed tasklet is paused on its owner from now on: 0 or S_E_THREAD. */
int s_begin_run(s_tasklet *t);

/* ---- idle.c -------------------------------------------------------------------------- */

/* No tasklet runs: main leaves its wait for the signals that have come, or their handlers run here.
 */
void s_handle_signals(s_sched *s);

/* At home's base, where nothing is ready: as s_idle(), but a sitter may pick the scheduler up while
 * home sleeps.  0: one has, and nothing of it is to be touched; else it is to be asked again. */
int s_idle_at_home(s_sched *s);
/* The scheduler has been picked up, and is awake. */
void s_note_picked_up(s_sched *s);

/* ---- poll.c -------------------------------------------------------------------------- */

/* Reads the poller now, or if the last time is long ago; sleeps in it, which is announced; closes
 * it.
 */
int s_poll_now(s_sched *s);
void s_poll_if_due(s_sched *s);
void s_poll_sleep(s_sched *s, int64_t until);
/* Detached: sleeps without reading it, and the scheduler may go away meanwhile. */
void s_poll_peek(s_sched *s, int64_t until);
void s_poll_end(s_sched *s);
void s_poll_after_fork(s_sched *s, int is_mine);

#endif
