/* Cancel scopes and groups (scope.c, cancel.c): what a tasklet is inside of, and what is cancelled
 * with it.
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

/* Small, with what every `with` uses in front: many scopes do not fit into a cache. */
typedef struct s_scope {
    PyObject_HEAD
    struct s_scope *parent;
    s_tasklet *task;
    PyObject *children; /* dict with the living ones as keys, in order; NULL: not a group */
    unsigned char state, called, expired, caught, shield, relative;
    unsigned char stuck;        /* how often its children were found to wait for ever */
    unsigned char lost_failure; /* there was no memory to add a child to `failed` */
    /* Its `when` is the deadline, armed or not, or S_FOREVER; before a `relative` scope is entered,
     * how long it takes. */
    s_timer timer;
    s_sched *armed; /* in whose heap the timer is */
    c_lock lock;
    int opened_at;    /* where in `opened` */
    PyObject *opened; /* the code that entered it, or NULL */
    PyObject *words;  /* list: what Cancelled says, then notes; or NULL */
} s_scope;

/* A scope that has `children`. */
typedef struct {
    s_scope scope;
    PyObject *failed;  /* list of the children that failed, in order, or NULL */
    s_tasklet *waiter; /* waits in s_scope_wait until there are no children */
    /* Of a group with a limit: what a child gives back when it ends, and how; else NULL. */
    PyObject *permits;
    void (*give_back)(s_sched *s, PyObject *permits);
} s_group;

static inline s_group *s_as_group(const s_scope *scope)
{
    return (s_group *)scope;
}

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

/* The outermost cancelled scope that is seen from inside `scope`, where Cancelled ends; or NULL. */
s_scope *s_scope_cancelled(s_scope *scope);
/* A new Cancelled for `t`, which says which scope it is; NULL with an exception. */
PyObject *s_scope_error(const s_tasklet *t);
/* Where it was entered; its code is NULL when that is not known. */
c_location s_scope_location(const s_scope *scope);

/* A note about clean-up that was skipped in it, for the exception that it ends with; a few are
 * kept.  -1 with an exception. */
int s_scope_add_note(s_scope *scope, PyObject *note);
/* Those notes: a new list, or NULL with an exception. */
PyObject *s_scope_note_list(const s_scope *scope);

/* The current tasklet goes in, and out again: 0 or S_E_.  A group that has children
 * is not left, 1; `force`: it is. */
int s_scope_enter(s_sched *s, s_scope *scope);
/* A tasklet of this thread that is paused goes in. */
int s_scope_enter_as(s_sched *s, s_tasklet *t, s_scope *scope);
/* ... and waits for a group's children, if there are any. */
int s_scope_wait_as(s_sched *s, s_tasklet *t, s_scope *group);
int s_scope_leave(s_sched *s, s_scope *scope, int force);
/* A suspended tasklet of this thread leaves all scopes that it has entered, whatever is in them. */
void s_scope_leave_all(s_sched *s, s_tasklet *t);
/* Discards a suspended tasklet, with the children of the groups that it has open (discard.c): each
 * ends soon, with the exception that `end` makes for it.  S_E_CURRENT, S_E_THREAD or S_E_KEPT, with
 * the one that cannot be discarded (borrowed): nothing has happened. */
int s_discard(s_sched *s, s_tasklet *t, PyObject *(*end)(s_sched *, s_tasklet *),
              s_tasklet **which);
/* Those of a group: a new list, or NULL with an exception. */
PyObject *s_scope_children(s_scope *scope);
void s_scope_cancel(s_sched *s, s_scope *scope);
int s_scope_set_deadline(s_sched *s, s_scope *scope, int64_t deadline);
void s_scope_set_shield(s_sched *s, s_scope *scope, int shield);
/* Looks at `t` and all in its groups again: their flags, their waits. */
void s_scope_notify(s_sched *s, s_tasklet *t);
/* Looks at all tasklets of the thread again; needs no memory. */
void s_scope_refresh(s_sched *s);

/* Whether `t` runs inside the group of `child`; both are of this thread. */
int s_scope_shared(const s_tasklet *t, const s_tasklet *child);
/* The scheduler of the tasklet that has entered it, or NULL. */
s_sched *s_scope_owner(s_scope *scope);
/* `t`, which is new, becomes a child: 0 or S_E_. */
int s_scope_adopt(s_scope *group, s_tasklet *t);
/* The group whose child `t` is, or NULL. */
s_scope *s_scope_group_of(const s_tasklet *t);
/* Whether `t` waits for the children of a group. */
int s_scope_is_waited_for(const s_tasklet *t);
/* `t` will never run: it is no child any more. */
void s_scope_disown(s_tasklet *t);
/* Waits until there are no children; `shielded`: though cancelled.  Where it cannot wait, the group
 * is cancelled and left. */
PyObject *s_scope_wait(s_sched *s, s_scope *group, int shielded, const c_call_site *site,
                       int *code);
/* The current tasklet leaves a group that it is still inside of when it should not be any more,
 * because memory has run out: the children are cancelled and waited for, as far as that can be
 * done.  0, or S_E_SET with an exception that came meanwhile.  Of another tasklet's group, or one
 * that is left: nothing. */
int s_scope_leave_open(s_sched *s, s_scope *group);

/* ---- what a snapshot holds of scopes (scope_snapshot.c) ---------------------------------- */

/* As the fields of a scope; `left` is the time until its deadline, counted from when a `relative`
 * one is entered, or S_FOREVER. */
typedef struct {
    int64_t left;
    int state, relative, called, expired, caught, shield;
} s_scope_snapshot;

void s_scope_read(s_sched *s, const s_scope *scope, s_scope_snapshot *snapshot);
/* Fills a new scope.  If it had been entered, a tasklet must enter it again. */
void s_scope_restore(s_sched *s, s_scope *scope, const s_scope_snapshot *snapshot);
/* The scopes that `t` has entered, outermost first: a new list, or NULL with an exception.  *group:
 * the one of which it is a child (borrowed), or NULL. */
PyObject *s_scope_list(const s_tasklet *t, s_scope **group);

#endif
