/* The threads that carry a scheduler: its own, and those that go on with it while one sits in C.
 * See carrier.c for what such a thread does, handoff.c for the whole. */
#ifndef LOOMLET_SCHED_CARRIER_H
#define LOOMLET_SCHED_CARRIER_H

#include "cpython/carried_thread.h"
#include "plat/work_pool.h"
#include "sched/handoff.h"
#include "sched/types.h"

typedef struct s_carrier_thread {
    s_carrier carrier; /* first: its part of the protocol */
    c_interrupt bell;  /* makes a sitter's thread meet the scheduler */
    struct s_carriers *all;
    PyThreadState *ts;
    s_sched **self;  /* the thread's pointer to its scheduler, which others clear */
    int *lock_waits; /* c_lock_waits_cell() of the thread */
    p_parker parker;
    b_spin spin;       /* whether to stay awake for a moment at the base */
    p_stack own_stack; /* a pooled thread's, as far as the interpreter must know it */
    p_stack *base;     /* where the thread stands between tasklets: that, or (home) a pooled one */
    void *base_sp, *base_fake;
    c_state base_state;
    p_stack *stack;     /* the sitter's */
    p_stack *spent;     /* ... which it has left for good; free once the thread is at its base */
    b_link aside;       /* ready tasklets that are kept here while somebody sits here */
    int aside_reported; /* that they wait has been reported */
    unsigned masked;    /* which one of all->signals it blocks */
    /* Whom this thread wakes as soon as it has detached: before, they would wait for the GIL. */
    struct s_carrier_thread *wakes;
    s_sched *wakes_scheduler;
    int takes_turns; /* nothing of this thread runs beside the one that it wakes */
    int64_t slept;   /* nanoseconds, the last time at the base */
    int idles;       /* it sleeps as home of a scheduler that is idle, or was; atomic */
    p_processors processors;
    p_work work;
    struct s_carrier_thread *next;
} s_carrier_thread;

/* What belongs to one scheduler; lives as long as that. */
typedef struct s_carriers {
    s_handoff protocol;
    p_lock lock; /* the protocol's */
    s_sched *s;
    s_carrier_thread *home;
    int process;          /* the one that its threads live in */
    p_signals signals;    /* what home blocks, and with it all that carry the scheduler */
    unsigned masks;       /* how often that has changed */
    int on;               /* it may be taken */
    uint32_t apart_until; /* coarse milliseconds: until then some tasklets run apart: apart.c */
    int sitting;          /* how many sitters have not met it; those that are daemons not counted */
    int seated;           /* the same with daemons, where the next one may pick it up */
    s_tasklet *awaiter;   /* main, waiting for that to be 0 */
    int64_t called_at;    /* when the monitor last called a carrier; atomic */
    int64_t begun_at;     /* when the first thread began since the scheduler came here; or 0 */
    int64_t unserved;     /* ... and for how long no safepoint had been come to */
    long long takes;      /* how often the scheduler was taken from a thread; for the bench */
    long long pick_ups;   /* ... and picked up by a sitter; for tests */
} s_carriers;

/* The carrier that the calling thread is, or NULL. */
extern __thread s_carrier_thread *s_carrier_here_ __attribute__((tls_model("initial-exec")));

/* The ident of the calling thread, or of the one whose scheduler it carries. */
static inline unsigned long s_home_ident(void)
{
    const s_carrier_thread *c = s_carrier_here_;
    return c != NULL ? c->all->s->thread_id : PyThread_get_thread_ident();
}

static inline s_carrier_thread *s_carrier_of(s_carrier *carrier)
{
    return B_CONTAINER(carrier, s_carrier_thread, carrier);
}

/* ---- carriers.c ---------------------------------------------------------------------------- */

/* All that were ever made, by `next`. */
s_carrier_thread *s_first_carrier(void);
/* One that no scheduler uses, or a new one; NULL without memory.  Any thread. */
s_carrier_thread *s_carrier_obtain(s_carriers *all);
void s_carrier_release(s_carrier_thread *c);
/* Runs c->work in a thread of the pool, which (here) begins on the caller's processor: 0, or -1.
 * Without _here the caller may be the monitor thread. */
int s_carrier_launch(s_carrier_thread *c);
int s_carrier_launch_here(s_carrier_thread *c);
/* 1, once: a call was not handed over, because no thread could be started. */
int s_take_refused_thread(void);
/* Attached, before the first launch; and in the child of a fork. */
void s_carriers_prepare_launch(void);
void s_carriers_forget_pool(void);
/* Whether a thread could wake a tasklet that the scheduler which it serves is not at: 0 or 1; *s:
 * that scheduler, of its own thread; or NULL.  -1: no carrier. */
int s_carrier_is_awake(const PyThreadState *ts, const s_sched **s);
/* The scheduler is away, and its own thread is free. */
int s_is_home_free(const s_sched *s);
/* Nothing is ready, and the scheduler travels: it sleeps at the base of home. */
int s_idle_is_at_home(const s_sched *s);
/* Who sits there: a new reference, or NULL. */
s_tasklet *s_sitter_on(s_carrier_thread *c);
/* The frames of a blocked tasklet may be read until s_release_sitter(): those of a sitter while its
 * call lasts.  0: it is back from that and runs. */
int s_suspend_sitter(const s_tasklet *t);
void s_release_sitter(const s_tasklet *t);
/* The calling thread, which is `c`, blocks what all do that carry the scheduler. */
void s_use_blocked_signals(s_carrier_thread *c);
/* Another thread than home has the thread-locals of home no more. */
void s_forget_locals(const s_carrier_thread *c);
void s_carriers_unlock_after_fork(void);
/* In the child of a fork: its thread does not exist there, and what it keeps never runs again.  No
 * other thread may become this carrier, or it would run that. */
void s_carrier_lose(s_carrier_thread *c);
/* Whether a tasklet that keeps a stack keeps it there; also before that is known.  And a stack. */
int s_is_lost(const s_tasklet *t);
int s_is_stack_lost(const s_sched *s, const p_stack *stack);

/* ---- carrier.c ----------------------------------------------------------------------------- */

/* From now on the calling thread's scheduler may go on in other threads, or (0) it may not: S_OK,
 * S_E_MEMORY.  Nobody sits and nobody is kept elsewhere when it is turned off for the first time
 * after that: s_await_sitters. */
int s_handoff_turn_on(s_sched *s, int on);
/* The monitor thread finds that the same tasklet runs on, and has come to no safepoint for so many
 * nanoseconds: calls a carrier if that may help. */
void s_call_carrier(s_sched *s, int64_t unserved);
/* `t`, which runs now, may sit in C soon: the monitor thread looks in time. */
void s_set_hurries(s_sched *s, const s_tasklet *t);
/* How often the scheduler was taken from a thread, when the last such call was made, and how often
 * a sitter has picked it up. */
typedef struct {
    long long takes, called_at, pick_ups;
} s_handoffs;
s_handoffs s_handoff_count(const s_sched *s);
/* The calling thread blocks other signals than before: so shall all that carry its scheduler. */
void s_share_blocked_signals(s_sched *s);
/* In the child of a fork, before s_self_here() is asked for. */
void s_carriers_after_fork(void);
/* The thread of a scheduler ends. */
void s_carriers_end(s_sched *s);

/* What the switch, and waits that it ends, ask of the files above; set when a handoff is first
 * turned on. */
typedef struct {
    /* The part of a carrier's life in which it runs no tasklet.  Returns when a pooled one ends. */
    void (*stand_at_base)(s_carrier_thread *c);
    /* The function of the thread's sitter has ended, with a result or an exception, which stay as
     * they are until the scheduler is here. */
    void (*meet_at_end)(void);
    void (*meet)(void);                /* s_meet() */
    int (*return_to_wait)(s_sched *s); /* s_return_to_wait(): wake.h */
} s_carrier_hooks;
extern s_carrier_hooks s_carrier_hook;

/* ---- switch.c: between a base and tasklets ------------------------------------------------- */

/* Leaves the present stack for the carrier's base; `save` and `fake` receive what is needed to
 * continue. */
void s_go_to_base(s_carrier_thread *c, void **save, void **fake);
/* At the base: runs `next` here, until this thread comes back to its base.  0: no memory. */
int s_run_from_base(s_carrier_thread *c, s_tasklet *next);

/* ---- apart.c ------------------------------------------------------------------------------- */

/* A call of the tasklet was handed over: what runs the same function runs apart for a while. */
void s_learn_apart(s_sched *s, const s_tasklet *t);
/* Whether that was so in the last second, of any tasklet. */
int s_any_handoff(const s_sched *s);
/* Whether it runs such a function. */
int s_may_handoff(const s_sched *s, const s_tasklet *t);
/* The same, and what s_set_apart() was called for. */
int s_is_apart(const s_sched *s, const s_tasklet *t);
/* From now on the tasklet, which has not begun, runs apart. */
void s_set_apart(s_sched *s, s_tasklet *t);
/* The same, but it begins here if this is home; it is ready, and what starts it waits for it.  That
 * it leaves needs slices. */
void s_begin_apart(s_sched *s, s_tasklet *t);
/* The current tasklet, which begins, has handed a lock over to `starter`. */
void s_has_begun(s_sched *s, s_tasklet *starter);
/* Whether there is any such tasklet still. */
int s_any_apart(const s_sched *s);
/* From now on the slow way of a switch asks where to run, if there is any. */
void s_refresh_apart(s_sched *s);
/* The one where the tasklet must run: it keeps its stack there, or is pinned; or NULL. */
s_carrier_thread *s_keeper_of(s_carriers *all, const s_tasklet *t);
/* Where a tasklet runs: a carrier, or NULL: not now. */
s_carrier *s_route(s_carriers *all, const s_tasklet *t);
/* It is to run apart, and the present carrier keeps something. */
int s_must_leave(const s_sched *s, const s_tasklet *t);
/* While s->travels: whether a tasklet that keeps no stack runs where the scheduler is. */
int s_belongs_here(s_sched *s, const s_tasklet *t);
/* Whether the current tasklet, which runs alone, had better run at home: there are signals. */
int s_must_go_home(const s_sched *s, const s_tasklet *t);
/* The same as s_belongs_here when the current tasklet is about to keep its stack here. */
int s_may_share(s_sched *s, const s_tasklet *t);

#endif
