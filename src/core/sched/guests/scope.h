/* Cancel scopes and groups: what a tasklet is inside of, and what is cancelled with it.
 *
 * A tasklet's `scope` is the innermost scope that it has entered; `parent` leads outwards.  A group
 * is a scope with children: a child begins inside the group, so its chain continues through the
 * tasklet that opened it.  A scope's `task` is the tasklet that entered it: while `task` stays the
 * same along a chain, the scopes are that tasklet's own.
 *
 * Invariant.  At rest `cancelled` of a tasklet is s_scope_effective(its scope): some scope around
 * it is cancelled and no shield lies between.  Entering and leaving restore it for the current
 * tasklet; s_scope_notify does so for others, together with an interrupt, which is only ever sent
 * to tasklets it holds for.  So no late notification can cancel a tasklet that is out already.
 *
 * Signals cannot come in between: no Python code of ours runs in here.
 *
 * A callback of the scheduler runs on top of a tasklet that is about to stop.  A scope that is
 * entered there is on no chain: nothing in it may block.
 *
 * References.  A scope owns its parent, its task while entered, its children and the waiter; an
 * armed timer owns the scope, so a tasklet with a deadline is never garbage.
 *
 * Threads.  A scope belongs to the thread of its task, but any thread may cancel it, and children
 * may live on any.  `lock` guards task, state, called, children and waiter; a tasklet's flag is
 * written on its own thread only, others send it a message to look again.  A scope whose task got
 * another owner while its timer was armed leaves the timer with the old one; there it fires without
 * effect.
 *
 * Rejected: down links from scope to scope (a set insertion for each `with`); every scope is found
 * from the tasklets instead, which are few: the one that entered it and the children of the groups
 * that this one has open.
 */
#ifndef LOOMLET_SCHED_SCOPE_H
#define LOOMLET_SCHED_SCOPE_H

#include "sched/sched.h"

enum s_scope_state { S_SCOPE_NEW, S_SCOPE_ENTERED, S_SCOPE_LEFT };

typedef struct s_scope {
    PyObject_HEAD
    struct s_scope *parent;
    s_tasklet *task;
    PyObject *children; /* dict with the living ones as keys, in order; NULL: not a group */
    PyObject *failed;   /* list of those that failed, in order, or NULL */
    s_tasklet *waiter;  /* waits in s_scope_wait until there are no children */
    s_timer timer;
    s_sched *armed;   /* in whose heap the timer is */
    int64_t deadline; /* or, before a `relative` scope is entered, how long */
    unsigned char state, called, expired, caught, shield, relative;
    c_lock lock;
} s_scope;

void s_scope_init(s_scope *scope);
int s_scope_visit(s_scope *scope, visitproc visit, void *arg);
void s_scope_clear(s_scope *scope);

/* 1 when `scope` or one around it is cancelled, up to the first shield. */
int s_scope_effective(const s_scope *scope);
/* 1 when a cancelled scope further out is seen from inside `scope`. */
int s_scope_outer(const s_scope *scope);
/* Whether a Cancelled ends at this scope: it is the outermost one that is cancelled. */
static inline int s_scope_absorbs(const s_scope *scope)
{
    return scope->called && scope->state == S_SCOPE_ENTERED && !s_scope_outer(scope);
}

/* The current tasklet goes in, and out again: 0 or S_E_.  A group that has children
 * is not left, 1; `force`: it is. */
int s_scope_enter(s_sched *s, s_scope *scope);
/* A tasklet of this thread that is paused goes in. */
int s_scope_enter_as(s_sched *s, s_tasklet *t, s_scope *scope);
/* ... and waits for a group's children, if there are any. */
int s_scope_wait_as(s_sched *s, s_tasklet *t, s_scope *group);
int s_scope_leave(s_sched *s, s_scope *scope, int force);
int s_scope_cancel(s_sched *s, s_scope *scope);
int s_scope_set_deadline(s_sched *s, s_scope *scope, int64_t deadline);
int s_scope_set_shield(s_sched *s, s_scope *scope, int shield);
/* Looks at `t` and all in its groups again: their flags, their waits. */
void s_scope_notify(s_sched *s, s_tasklet *t);

/* `t`, new and of this thread, becomes a child: 0 or S_E_. */
int s_scope_adopt(s_scope *group, s_tasklet *t);
/* Waits until there are no children; `shielded`: though cancelled.  Where it cannot wait, the group
 * is cancelled and left. */
PyObject *s_scope_wait(s_sched *s, s_scope *group, int shielded, const c_call_site *site,
                       int *code);

#endif
