/* Handoff: where a scheduler is, and who may take it from a thread that sits in C.
 *
 * The theory is in handoff.c.  This is the protocol alone: two structures and what may happen to
 * them.  It knows neither Python nor threads nor tasklets, so tests/core can try everything that
 * may happen in every order.
 *
 * Threads.  Every function is one step: its caller holds the scheduler's lock, which is held for
 * nothing else.  All but s_handoff_call and s_handoff_cancel_call, which are the monitor thread's,
 * are called attached, which without a GIL many threads are at a time.  The inline ones need no
 * lock: they touch what only the thread uses that the scheduler, or the sitter, is at.
 */
#ifndef LOOMLET_SCHED_HANDOFF_H
#define LOOMLET_SCHED_HANDOFF_H

#include <stddef.h>

/* What an OS thread is to the scheduler that it serves. */
typedef enum {
    S_CARRIER_FREE,  /* it serves none: a thread of the pool, or a record without a thread */
    S_CARRIER_RUNS,  /* the scheduler is here */
    S_CARRIER_SITS,  /* the scheduler was taken from here; the sitter has not met it since */
    S_CARRIER_WAITS, /* it stands at its base, asleep or about to be */
    S_CARRIER_LOST,  /* its scheduler has ended: what it keeps never runs again */
} s_carrier_state;

typedef struct s_carrier {
    struct s_handoff *serves; /* NULL: FREE or LOST */
    s_carrier_state state;
    int kept;     /* hard tasklets on its stacks; not the sitter, nor one that runs */
    void *sitter; /* SITS: the tasklet that was current when the scheduler was taken */
    int in_reserve;
    struct s_carrier *below; /* the next one of the reserve */
} s_carrier;

/* One for each scheduler. */
typedef struct s_handoff {
    s_carrier *at; /* where the scheduler is, or (in transit) where it goes */
    s_carrier *home;
    s_carrier *reserve; /* carriers that stay at their base with nothing kept, the last one first */
    s_carrier *called;  /* it shall look whether to take; one at a time; or NULL */
    s_carrier *invited; /* it shall stand ready: the scheduler comes to it; or NULL */
    int in_transit;
    int idle;      /* home sleeps with it at its base: a sitter that meets it goes on with it */
    int forbidden; /* how many reasons there are why nobody may take it */
    int closed;    /* it stays where it is for good */
} s_handoff;

/* What a carrier does next that stands at its base. */
typedef enum {
    S_BASE_SLEEP,   /* nothing: leave, or sleep and look again */
    S_BASE_DECIDE,  /* it was called: take or decline */
    S_BASE_ARRIVED, /* the scheduler is here now */
} s_base_step;

/* The scheduler of a thread begins: it is at home. */
void s_handoff_begin(s_handoff *h, s_carrier *home);

/* ---- taking ------------------------------------------------------------------------------ */

/* The monitor asks `c`, a FREE carrier that nobody else knows or one at its base that serves `h`,
 * to take the scheduler: 1, or 0 when another one is called already or `c` is no such carrier. */
int s_handoff_call(s_handoff *h, s_carrier *c);
/* `c`, which was called or invited, has no thread after all. */
void s_handoff_cancel_call(s_handoff *h, s_carrier *c);
/* Whether `by` may take the scheduler now, as far as the protocol knows.  The thread that the
 * scheduler is at must be held: it is detached and stays so. */
int s_handoff_may_take(const s_handoff *h, const s_carrier *by);
/* `by` takes it; the thread that it was at sits with the tasklet that was current. */
void s_handoff_take(s_handoff *h, s_carrier *by, void *sitter);
/* `c` was called and does not take. */
void s_handoff_decline(s_handoff *h, s_carrier *c);
/* The scheduler is being used over a detach: nobody takes it until as many calls with -1. */
static inline void s_handoff_forbid(s_handoff *h, int change)
{
    h->forbidden += change;
}

/* ---- meeting ------------------------------------------------------------------------------ */

/* Whether the scheduler that this carrier serves is at another one: its thread must meet it. */
static inline int s_handoff_must_meet(const s_carrier *c)
{
    return c->state == S_CARRIER_SITS || c->state == S_CARRIER_LOST;
}

/* The sitter stops here, softly or (`hard`) on the stack that it has.  1: it is to be woken, and
 * the thread goes to its base; 0: its scheduler has ended, the thread stops for ever. */
int s_handoff_meet(s_carrier *c, int hard);

/* ---- idleness ------------------------------------------------------------------------------ */

/* Home, which the scheduler is at, stands at its base, has nothing to run and is about to detach
 * and sleep. */
void s_handoff_begin_idle(s_handoff *h);
/* It is awake and attached: 1, or 0 when the scheduler has gone. */
int s_handoff_end_idle(s_handoff *h);
/* The sitter of `c` stops, and the scheduler is idle: 1, it comes here, and the tasklet goes on. 0:
 * it is not idle, or has ended. */
int s_handoff_pick_up(s_carrier *c);

/* ---- travelling --------------------------------------------------------------------------- */

/* Where the next tasklet runs: one kept at `kept_at`, or a soft one (NULL), which may want to be
 * `apart` from hard ones.  NULL: not now, somebody sits there. */
s_carrier *s_handoff_route(const s_handoff *h, s_carrier *kept_at, int apart);
/* `c`, a FREE carrier that nobody else knows, shall be where the scheduler goes next: 1, or 0 when
 * it is no such carrier. */
int s_handoff_invite(s_handoff *h, s_carrier *c);
/* The scheduler goes to `to`, whose thread is to be woken; the caller goes to its base: 1.  0: `to`
 * has left meanwhile, choose again. */
int s_handoff_depart(s_handoff *h, s_carrier *to);
/* At the base, attached. */
s_base_step s_handoff_look(s_carrier *c);
/* Whether a carrier's thread could wake a tasklet, whatever the scheduler does that may be there:
 * it sits, or it has not looked yet what there is to do. */
int s_handoff_is_awake(const s_handoff *h, const s_carrier *c);
/* At the base, attached, where s_handoff_look has found nothing.  If nothing keeps it there, it was
 * not called and the scheduler has not come, the carrier joins the reserve; or, when it has been
 * there for long (`over`), it is FREE from now on: 1. */
int s_handoff_leave(s_carrier *c, int over);
/* A tasklet is kept on the carrier that the scheduler is at (1), or runs there again (-1). */
static inline void s_handoff_keep(s_handoff *h, int change)
{
    h->at->kept += change;
}

/* ---- ends ---------------------------------------------------------------------------------- */

/* In the child of a fork that `me` made: it is home, and the scheduler is here.  Every other
 * carrier that served it is to be dropped. */
void s_handoff_after_fork(s_handoff *h, s_carrier *me);
/* This carrier's thread does not exist in the child. */
void s_handoff_drop(s_carrier *c);
/* The scheduler, which is at home, stays there: its thread or the interpreter ends.  All other
 * carriers are to be woken, so that those leave that keep nothing. */
void s_handoff_close(s_handoff *h);
/* The closed scheduler has ended: what this carrier keeps is lost. */
void s_handoff_lose(s_carrier *c);

#endif
