/* Tasklets and their scheduler: the contract of this room.
 *
 * One scheduler per OS thread, made on first use; it owns the thread's tasklets.  A tasklet runs
 * only on its owner's thread.  The main tasklet is the thread's original thread of control; it
 * keeps the thread's own C stack.
 *
 * References.  A tasklet that runs is owned by its scheduler (`current`).  A ready one is owned by
 * the run queue, a blocked one by what it waits for (each wait node owns one reference), a sleeping
 * one by its timer, a paused one by whatever refers to it.  The registry of all tasklets owns
 * nothing.
 *
 * Blocking.  An upper room queues me->wait somewhere, fills `kind` and `on`, and calls s_suspend.
 * Whatever ends the wait takes the tasklet out of that queue (that is the claim: it happens under
 * the queue's lock, once), stores in wait.value what the blocked call shall return, or in `error`
 * what it shall raise, and calls s_wake.  With neither, an iteration ends.  So no C code of the
 * blocked call needs to run again, and the C stack can be abandoned.
 *
 * Threads.  Everything here runs on the scheduler's own thread with its thread state attached,
 * except s_wake, s_post_message and s_wake_thread, which any attached thread may call.  Fields of a
 * tasklet belong to its owner's thread, except `wait` and `error` between the claim and s_wake.
 *
 * Errors.  Functions return 0 or a negative S_E... code; S_E_SET says that a Python exception is
 * set already.  bind/errors.c turns the others into exceptions.
 */
#ifndef LOOMLET_SCHED_H
#define LOOMLET_SCHED_H

#include "sched/scheduler.h"
#include "sched/types.h"
#include "sched/wake.h"

/* ---- all schedulers and tasklets (registry.c) -------------------------------------------- */

/* The first in the list of all schedulers, ended ones too. */
const s_sched *s_first_scheduler(void);
/* The spare C stacks of all schedulers: how many; and giving those of one back, on its thread. */
long s_spare_stacks(void);
void s_free_spare_stacks(s_sched *s);
/* The scheduler of a living thread, or NULL. */
s_sched *s_sched_of(PyThreadState *ts);
s_sched *s_sched_of_thread(unsigned long thread_id);
/* The tasklets that have not ended, as new references in a PyMem_RawMalloc'ed array; their number,
 * or S_E_MEMORY. */
Py_ssize_t s_tasklets(s_sched *s, s_tasklet ***found);
/* The main one first; none but that without memory. */
void s_for_each_tasklet(s_sched *s, void (*call)(s_tasklet *t));
/* Out of its owner's registry: before its memory can be freed. */
void s_registry_remove(s_tasklet *t);
/* All tasklets but the main one have ended: the ids of new ones follow its id, and no look for
 * rings is due for what the others waited for. */
void s_forget_tasklets(s_sched *s);
/* From now on main tasklets are of that type, those that exist too. */
void s_retype_mains(PyTypeObject *type);

extern int s_soft_wanted;
/* Whether all threads switch softly where they may, from now on. */
void s_set_soft(int wanted);
/* 0 hard only, 1 soft where it may be, 2 the same, but every switch takes the slow way. */
int s_soft_mode(const s_sched *s, int wanted);
/* How many picks of the run queue there are from one slow one to the next: 1 when each is slow. */
int s_picks(const s_sched *s);
/* Switches are hard as long as `t` runs, if something that it has asks for it; NULL: not. */
void s_only_hard_for(s_sched *s, const s_tasklet *t);
/* One reason more (1) or less (-1) for all switches to take the slow way. */
void s_slow_switches(int change);
/* Every scheduler finds out again which mode it may switch in. */
void s_refresh_modes(void);

/* ---- the life of a tasklet (tasklet.c, finalize.c) --------------------------------------- */

/* Fills a zeroed object.  `args` and `kwnames` as in c_start; all borrowed. */
int s_tasklet_init(s_sched *s, s_tasklet *t, PyObject *func, PyObject *args, PyObject *kwnames);
int s_main_init(s_sched *s, s_tasklet *t);
/* A new tasklet, ready: a new reference, or NULL and a code.  Arguments as above. */
s_tasklet *s_spawn(s_sched *s, PyObject *func, PyObject *args, PyObject *kwnames, int *code);
/* The same for a scheduler of any thread: paused, and in no registry yet. */
s_tasklet *s_new_for(s_sched *to, PyObject *func, PyObject *args, PyObject *kwnames, int *code);
/* Makes a zeroed object an ended tasklet of `s`: one that s_rebind can begin. */
void s_unbound_init(s_sched *s, s_tasklet *t);
void s_finish(s_sched *s, s_tasklet *t, PyObject *result);
/* What `waiter` raises that waits for the ended `t`: a new reference, or NULL for nothing. */
PyObject *s_failure_for(const s_tasklet *waiter, s_tasklet *t);
int s_visit(s_tasklet *t, visitproc visit, void *arg);
/* Breaks cycles: drops the frames of a suspended tasklet, no `finally` runs. */
void s_clear(s_tasklet *t);
/* The deallocator of the type. */
void s_dealloc(PyObject *self);
/* The finalizer: a suspended tasklet gets TaskletExit. */
void s_finalize(s_tasklet *t);

/* ---- owners (owner.c), and binding again (rebind.c) --------------------------------------- */

/* The owner of tasklets whose thread has ended. */
extern s_sched s_detached_owner;
/* Calls work(arg), which looks at `t` or changes it, and runs no Python code: at once on its
 * owner's thread, elsewhere while all others are stopped. */
void s_run_on_owner(const s_tasklet *t, void (*work)(void *arg), void *arg);
/* Makes `s` the owner of a tasklet that cannot run now: 0, S_E_BLOCKED when its thread is about to
 * run it, S_E_STUCK when C frames hold it, S_E_THREAD when `s` has ended. */
int s_change_owner(s_sched *s, s_tasklet *t);
/* Claims a tasklet that has ended, or (alive) is paused and held by no C frame: from now on it has
 * ended for all others.  With `func` its function too, *func: given, or NULL and then what it is
 * bound to (new), which an ended one no longer keeps then.  Or S_E_ALIVE, S_E_BLOCKED,
 * S_E_UNBOUND: nothing has happened. */
int s_claim_for_rebinding(s_tasklet *t, int alive, PyObject **func);
void s_release_claim(s_tasklet *t);
/* Of a claimed one: drops what its last run has left, and its frames; no `finally` runs. */
void s_unbind(s_tasklet *t);
/* Makes a claimed one, and releases it, a tasklet that has not started and is paused; the rest as
 * s_tasklet_init.  `s`: the caller's.  S_E_THREAD: its thread has ended. */
int s_rebind(s_sched *s, s_tasklet *t, PyObject *func, PyObject *args, PyObject *kwnames);
/* Starts a new run of a tasklet that has ended: makes a call of the function that it is bound to,
 * with these arguments, and inserts it.  0, S_E_ALIVE, S_E_UNBOUND, S_E_THREAD or S_E_MEMORY. */
int s_set_up(s_sched *s, s_tasklet *t, PyObject *args, PyObject *kwnames);

/* ---- switching (switch.c) ---------------------------------------------------------------- */

/* The current tasklet, queued already where it belongs, stops here and the next one runs.  Returns
 * what it was woken with (a new reference), or NULL with an exception, or NULL without one (the end
 * of an iteration). */
PyObject *s_suspend(s_sched *s, const c_call_site *site);
/* The same for a wait of an unfinished kind, whose s_rest (stolen) it returns. */
PyObject *s_suspend_unfinished(s_sched *s, PyObject *rest, const c_call_site *site);
/* The same, but `next` (owned by the caller, in no queue) runs now. */
PyObject *s_transfer(s_sched *s, s_tasklet *next, const c_call_site *site);
/* The same at a safepoint of the interpreter; what it returns is of no use there. */
PyObject *s_transfer_at_safepoint(s_sched *s, s_tasklet *next, const c_call_site *safepoint);
PyObject *s_schedule(s_sched *s, const c_call_site *site);
/* The same; the caller's own call returns `mine` (stolen). */
PyObject *s_schedule_with(s_sched *s, PyObject *mine, const c_call_site *site);

/* Whether the tasklet that runs next, if nothing comes between, has not begun and is a call of
 * `func` (queue.c). */
int s_next_begins(const s_sched *s, const PyObject *func);

/* ---- operations on tasklets (control.c) -------------------------------------------------- */

/* The kind of a tasklet that has paused itself by the native API. */
extern const s_wait_kind s_pausing;

int s_insert(s_sched *s, s_tasklet *t);
int s_remove(s_sched *s, s_tasklet *t);
/* How a tasklet is run at once.  The order of the ring: the caller keeps its place in the circle of
 * runnable tasklets, so that what stands between `t` and it runs before it. */
enum { S_PAUSE = 0, S_STAY = 1, S_RING = 2 };
PyObject *s_run_now(s_sched *s, s_tasklet *t, int how, const c_call_site *site, int *code);
/* `t` (as for s_transfer) runs now, the caller waits at the head of the run queue. */
PyObject *s_run_before_me(s_sched *s, s_tasklet *t, const c_call_site *site);
/* The same; the caller's own call returns `mine` (stolen). */
PyObject *s_run_before_me_with(s_sched *s, s_tasklet *t, PyObject *mine, const c_call_site *site);
/* The same in the order of the ring, `t` in no queue: the caller goes to the tail. */
PyObject *s_run_after_me_with(s_sched *s, s_tasklet *t, PyObject *mine, const c_call_site *site);
/* The current tasklet stops and is in no queue until it is inserted. */
PyObject *s_pause(s_sched *s, const c_call_site *site, int *code);
/* The same by the rules of the Stackless API; its call returns `mine` (stolen). */
PyObject *s_pause_removed(s_sched *s, PyObject *mine, const c_call_site *site, int *code);
/* Steals `error`. */
PyObject *s_throw(s_sched *s, s_tasklet *t, PyObject *error, int how, const c_call_site *site,
                  int *code);
/* The exception is raised when it runs again; it becomes runnable, the caller continues.  Steals.
 */
int s_throw_later(s_sched *s, s_tasklet *t, PyObject *error);
/* S_OK when the tasklet can be discarded: it is suspended in Python code only, on this thread. */
int s_may_discard(const s_sched *s, const s_tasklet *t);
/* Its frames are dropped and nothing of it runs any more: it ends with `error` (stolen) soon. */
int s_discard_later(s_sched *s, s_tasklet *t, PyObject *error);
/* A tasklet of s_new_for runs on its thread soon: 0, or S_E_THREAD when that has ended. */
int s_start_for(s_sched *to, s_tasklet *t);
/* The innermost Python function of a tasklet of this thread, as a new reference, and its line: 1,
 * or 0 if there is none. */
int s_find_location(s_sched *s, s_tasklet *t, PyObject **code, int *line);
/* The same for all its frames, innermost first: how many, `room` at most. */
int s_find_frames(s_sched *s, s_tasklet *t, c_location *found, int room);
/* Handlers of messages (inbox.h) for a tasklet of another thread. */
void s_handle_insert(s_sched *s, s_tasklet *t, PyObject *error);
void s_handle_remove(s_sched *s, s_tasklet *t, PyObject *error);
void s_handle_run(s_sched *s, s_tasklet *t, PyObject *error);

/* ---- waiting for a tasklet, for a time, for anything (waits.c, timer.c, idle.c, poll.c) --- */

PyObject *s_join(s_sched *s, s_tasklet *t, int64_t until, int want_result, const c_call_site *site,
                 int *code);
PyObject *s_sleep(s_sched *s, int64_t nanoseconds, const c_call_site *site, int *code);
/* A paused tasklet of this thread waits again: 0 or S_E_.  If it need not wait it is runnable. */
int s_join_again(s_sched *s, s_tasklet *t, s_tasklet *target, int want_result, int64_t until);
int s_sleep_again(s_sched *s, s_tasklet *t, int64_t nanoseconds);

int64_t s_now(s_sched *s);
/* The same, some milliseconds coarse, at a quarter of the cost. */
int64_t s_now_coarse(const s_sched *s);
int s_timer_arm(s_sched *s, s_timer *timer, int64_t when);
void s_timer_disarm(s_sched *s, s_timer *timer);
void s_timers_fire(s_sched *s);

/* Sleeps until there may be something to do; delivers signals and deadlocks to the main tasklet. */
void s_idle(s_sched *s);
/* From now on the scheduler has a poller: 0, or S_E_SYSTEM - errno. */
int s_poll_begin(s_sched *s);

/* The current tasklet begins to wait: S_OK, with its deadline set, or S_E_.  `late`: the one for a
 * time that is over (S_FOREVER never is). */
static inline int s_begin_wait(s_sched *s, int64_t until, int late)
{
    if (until != S_FOREVER && until <= s_now(s))
        return late;
    int code = s_may_block(s);
    return code == S_OK ? s_deadline_set(s, s->current, until) : code;
}

/* The current tasklet begins to wait in the poller: S_OK, with its deadline set, or S_E_. */
static inline int s_begin_poll_wait(s_sched *s, int64_t until)
{
    int code = s_may_block(s);
    if (code == S_OK)
        code = s_poll_begin(s);
    return code == S_OK ? s_deadline_set(s, s->current, until) : code;
}

/* The name of a tasklet as its `name` would be, read as plain memory, with a 0 after it: its size.
 * `room` is 32 or more.  (run_interval.c) */
size_t s_peek_name(const s_tasklet *t, char *to, size_t room);

#endif
