/* The structures of the scheduler: tasklets, schedulers, waits, and what is inline on them alone.
 *
 * The contract is in sched.h.  Functions here touch nothing but the structures, so this header lies
 * below every file of the room.
 */
#ifndef LOOMLET_SCHED_TYPES_H
#define LOOMLET_SCHED_TYPES_H

#include "base/b_heap.h"
#include "base/b_list.h"
#include "base/b_spin.h"
#include "cpython/cpython.h"
#include "plat/plat.h"
#include "sched/error_codes.h"

#define S_FOREVER INT64_MAX

typedef struct s_tasklet s_tasklet;
typedef struct s_sched s_sched;
typedef struct s_left_wait s_left_wait;

#define S_OBJECT_BUCKETS 64

enum s_state { S_NEW, S_READY, S_RUNNING, S_BLOCKED, S_PAUSED, S_DONE };

/* How a tasklet's execution is kept while it does not run. */
enum s_saved_as {
    S_NOT_STARTED,
    S_FRAMES,              /* soft, in a call that blocks */
    S_FRAMES_AT_SAFEPOINT, /* soft, interrupted between two instructions */
    S_FRAMES_CALLED,       /* soft: main, which has left its wait to run handlers of signals */
    S_C_STACK,             /* hard */
    S_LIVE,                /* not at all: it runs, or has ended */
    S_FRAMES_UNFINISHED,   /* soft, in a call that has more to do: s_rest */
};

/* What LOOMLET_TORTURE asks for: bits, for the whole process. */
enum {
    S_TORTURE_SWITCH = 1, /* soft and hard by turns, the slow path at every pick */
    S_TORTURE_MOVE = 2,   /* another, scribbled C stack after every soft switch */
    S_TORTURE_ALLOC = 4,  /* frame chunks are scribbled when taken and when freed */
};
extern int s_torture;

/* ---- waits ----------------------------------------------------------------------------- */

/* A node in a queue.  `value`: what a waiting sender offers; after the claim, what the blocked call
 * returns.  Owns its references. */
typedef struct s_wait {
    b_link link;
    s_tasklet *task;
    PyObject *value;
} s_wait;

/* One thing that a blocked tasklet waits for. */
typedef struct {
    PyObject *object;     /* borrowed; NULL: none that has an address */
    PyObject *name;       /* of the object: borrowed, or NULL */
    uint64_t holder;      /* the id of the tasklet that can end the wait; 0: no particular one */
    unsigned long thread; /* ... or the OS thread */
} s_target;

/* What detaching a tasklet for an error may give, beside 0 and 1. */
enum { S_KEEPS_ERROR = 2 };

/* One reason to wait; upper rooms define theirs as constants. */
typedef struct s_wait_kind {
    const char *name;
    /* Takes a blocked tasklet out of all queues; 1 when done (the caller then owns its reference),
     * 0 when it has been claimed already.  On the owner's thread. */
    int (*detach)(s_tasklet *t);
    /* The same before `error` (borrowed) is raised in it.  S_KEEPS_ERROR: it is blocked still, and
     * its wait ends with that error, in t->error, as soon as it may.  NULL: as `detach`. */
    int (*detach_for)(s_tasklet *t, PyObject *error);
    /* The main tasklet would get Deadlock.  1: others were given an error first.  NULL: there is no
     * such thing. */
    int (*break_deadlock)(s_sched *s, s_tasklet *t);
    /* The object waited for: a new reference, or NULL with no exception for none.  NULL: that of
     * its first target.  Called by s_waited_object. */
    PyObject *(*object)(s_tasklet *t);
    /* The i-th thing waited for, read as plain memory (debug/dump.c): 1, or 0 after the last. */
    int (*target)(const s_tasklet *t, int i, s_target *found);
    /* What the call returns when its deadline passes; NULL: it raises the error of this code, by
     * default S_E_TIMEOUT. */
    PyObject *late;
    int late_code;
    /* Visits what the wait itself owns; NULL: nothing. */
    int (*visit)(s_tasklet *t, visitproc visit, void *arg);
    /* The tasklet's kind from the moment it is woken until it runs; NULL: none.  If an exception
     * comes first, `refused` is called: it does not take what it was woken with (`value`,
     * borrowed). */
    const struct s_wait_kind *given;
    void (*refused)(s_sched *s, s_tasklet *t, PyObject *value);
    unsigned char gives_items; /* `refused` wants to know of any value, not of True only */
    /* It was woken with True or False, and before it runs its frames are dropped, also after
     * something else was to be raised; NULL: as `refused`. */
    void (*discarded)(s_sched *s, s_tasklet *t);
    /* Another thread has ended the wait: called on the owner's thread when that is known there;
     * NULL: nothing to do. */
    void (*arrived)(s_tasklet *t);
    /* The wait node is in the queue of a thing that belongs to no thread: a tasklet that waits so
     * may get another owner. */
    unsigned char anywhere;
    /* The lock of the queue that it waits in; NULL: only its owner may take it out of there. */
    c_lock *(*lock)(const s_tasklet *t);
    unsigned char shielded;   /* no cancel ends the wait */
    unsigned char stackless;  /* a wait of the Stackless API: so is a deadlock there */
    unsigned char insertable; /* insert() and run() end the wait, as if the tasklet were paused */
    unsigned char unfinished; /* wait.value is an s_rest, which it stays when the wait ends */
    unsigned char resumable; /* main leaves the wait for handlers of signals, and begins it again */
    /* ... where it waits softly: begins the wait again for `left`.  0: it waits; 1: it need not,
     * its wait.value is what the call returns; or S_E_.  NULL: main does not leave it so. */
    int (*again)(s_sched *s, const s_left_wait *left);
} s_wait_kind;

/* What a call has to do when its wait is over: an object that the waiting tasklet owns.  On a C
 * stack the call goes on by itself; one that was left softly goes on by `run`, on top of the
 * tasklet's frames.  Dropped if an exception comes first. */
typedef struct s_rest {
    PyObject_HEAD
    /* What the call returns, or NULL with an exception. */
    PyObject *(*run)(s_sched *s, struct s_rest *rest);
    PyObject *woken; /* borrowed, one of the singletons: what the wait has given */
} s_rest;

/* A soft wait that main has left.  Owns its references. */
struct s_left_wait {
    const s_wait_kind *kind;
    PyObject *on, *value; /* what it waited for, and what it offered there; or NULL */
    int64_t until;        /* S_FOREVER: without a deadline */
};

typedef struct s_timer {
    b_timer node;
    /* Called on the scheduler's thread once the time has come; must not block. */
    void (*fire)(s_sched *s, struct s_timer *timer);
    void *owner;
} s_timer;

/* ---- tasklets -------------------------------------------------------------------------- */

/* What only the Stackless API needs of a tasklet. */
typedef struct {
    unsigned char atomic;         /* never preempted */
    unsigned char ignore_nesting; /* run() with a budget may interrupt it inside C callers */
    unsigned char block_trap;     /* an operation that would wait raises instead */
} s_stackless_tasklet;

struct s_tasklet {
    PyObject_HEAD
    PyObject *weakrefs;
    s_wait wait;             /* its node in the run queue or in the queue it waits in */
    const s_wait_kind *kind; /* why it is blocked; of a paused one: control.c */
    void *on;                /* ... and on what; the meaning depends on `kind` */
    c_state c;
    p_stack *stack; /* S_C_STACK: its C stack */
    s_sched *owner;
    b_link all;     /* in its owner's registry */
    PyObject *func; /* after the end: its name, if it was a Python function */
    union {
        PyObject *args; /* before the start: positional ones, then keyword values */
        PyObject *result;
        PyObject *traceback; /* with `failure`: its traceback when it ended the tasklet, or NULL */
    };
    union {
        PyObject *kwnames;
        PyObject *failure; /* the exception that ended it */
    };
    PyObject *error; /* to be raised when it runs again */
    PyObject *name;
    union {
        PyObject *spawner;   /* the code that spawned it, until its end; or NULL */
        vectorcallfunc call; /* stackless_rules: what a call of the object calls; or NULL */
    };
    b_link joiners; /* s_wait of tasklets that wait for its end; not a list before the first */
    s_timer *timer; /* deadline of the present wait */
    uint64_t id;

    PyObject *scope;               /* innermost cancel scope: guests/scope.h */
    c_event_loop *event_loop;      /* an event loop of asyncio runs in it: guests/event_loop.c */
    c_trace *trace;                /* it has trace functions of its own: guests/trace.c */
    struct s_identity *identity;   /* guests/thread_identity.h */
    struct s_fiber_set *fibers;    /* it has several C stacks: guests/fiber.h */
    s_stackless_tasklet stackless; /* guests/stackless_run.c */

    unsigned char state, saved_as;
    unsigned char started : 1, is_main : 1;
    unsigned char on_thread_stack : 1; /* main, unless its function has a stack of ours: run.c */
    unsigned char due : 1;             /* a preemption was withheld and is still wanted */
    unsigned char in_ring : 1;         /* a ring that it was part of has been reported */
    unsigned char garbage : 1;         /* its finalizer ended it */
    unsigned char stackless_rules : 1; /* made by the Stackless API, whose rules it follows */
    unsigned char apart : 1;           /* it never sits on a thread that keeps something: apart.c */
    unsigned char begins : 1;          /* ... from when it first hands a lock over */
    unsigned char daemon : 1;          /* the end of a run does not wait for its calls: sitter.c */
    unsigned char owned : 1;           /* a group takes its failure */
    unsigned char quick : 1;           /* the C code that it calls does not wait: apart.c */
    unsigned char cancelled;           /* every blocking call raises Cancelled */
    unsigned char attached;            /* what it has of guests: events.h */
    unsigned char queued;   /* its node is in the queue it waits in; under that queue's lock */
    unsigned char round;    /* of s_kill_all that killed it last */
    unsigned char why;      /* the last switch was hard: C_... of cpython.h */
    unsigned char held;     /* claimed for rebinding: rebind.c */
    unsigned char observed; /* what ended it was raised by a join, too */
    c_lock lock;
    union {
        unsigned char pinned; /* how often it is inside pinned() */
        unsigned char looks; /* after the end: how often its failure was still handled: failure.c */
    };
    unsigned short nopreempt;  /* how often it is inside nopreempt() */
    unsigned short spawned_at; /* where in `spawner`: c_caller_code */
    uint32_t since; /* when it began or ceased to run, in coarse milliseconds (s_coarse_ms) */
};

/* ---- schedulers ------------------------------------------------------------------------ */

/* The longest run interval of a scheduler, as text: the tasklet may be gone. */
typedef struct {
    uint32_t milliseconds; /* coarse ones */
    int line;
    uint64_t id;
    char name[64], function[64], file[160];
} s_run_interval;

/* What only the Stackless API needs of a scheduler. */
typedef struct {
    b_link run_callers;  /* callers of run(), innermost first: guests/stackless_run.c */
    b_link dead;         /* ended tasklets that may be bound again; guarded by all_lock */
    s_tasklet *departed; /* it has ended, which the switch listener has not seen yet */
    int in_callback;     /* the listener or a channel's callback runs */
    int trapped;         /* the level that switch_trap() asked for; counts once in `trap` */
    int run_called;
    int pickle_flags;
    PyObject *last_main; /* stands for main while the thread ends */
} s_stackless_sched;

struct s_sched {
    s_tasklet *current, *main, *idler;
    s_tasklet *leaving; /* pauses itself; our reference is dropped once it is left */
    b_link ready;
    uint32_t coarse_now; /* the time, as last read, in coarse milliseconds: run_interval.c */
    uint32_t notice;     /* a run interval of that length is noted */
    int budget;          /* picks until the clock and the inbox are looked at */
    int picks;           /* ... as many as that: s_picks() */
    int trap;            /* no-switch depth: > 0 inside a callback, or trapped */
    int reporting;       /* `trap` inside the error handler, which may still wait for a lock */
    int soft;            /* s_soft_mode() */
    int only_hard;       /* why the current tasklet is always switched hard: C_...; 0: it is not */
    int overdue;         /* the next tasklet is chosen by a guest (s_report_overdue) */
    int idled;           /* the current tasklet ceased to run before the thread slept */
    p_stack *stack;      /* the one we run on */
    p_stack own_stack;
    p_stack *spare;
    int spares, spares_idle; /* how many, and the fewest since the last were given back */
    uint32_t trimmed;        /* when that was, in coarse milliseconds */
    PyThreadState *ts;
    struct s_carrier_thread *at; /* what it is at: carrier.h; NULL: it was never handed over */
    s_tasklet *heading;          /* it was chosen, and runs where it is kept: carrier.c */
    int away;                    /* it is at another thread than its own */
    int travels;                 /* away, or some run apart: the slow way asks where to run */
    int any_apart;               /* some tasklets are to run apart, always: apart.c */
    int hurries;    /* the current tasklet is one whose calls were handed over lately */
    int untakeable; /* code that is detached uses it: see handoff.c */
#if C_FREE_THREADED
    const void *asked_at; /* the position of the last operation: see scheduler.h */
#endif
    unsigned long count_soft, count_hard, count_why[C_HARD_REASON_COUNT];

    b_heap timers;
    int64_t virtual_now; /* < 0: the real clock */
    uint64_t random;     /* seeded run order; 0 = first in, first out */
    unsigned coin;       /* of torture */

    b_link all;         /* the tasklets that it owns; guarded by all_lock */
    Py_ssize_t natives; /* those of them that do not follow the rules of Stackless */
    c_lock all_lock;

    int has_messages;
    p_parker parker;
    int by_thread;          /* atomic: another thread of Python has begun to wake its own */
    b_spin spin;            /* whether to stay awake for a moment before sleeping */
    Py_ssize_t io_waits;    /* tasklets that wait for descriptors: poll.c */
    Py_ssize_t call_waits;  /* tasklets that wait for a function on another thread: io/blocking.h */
    Py_ssize_t completions; /* completions that tasklets wait for */
    unsigned tasklet_waits; /* waits for what a tasklet holds, counted */
    unsigned tasklet_waits_seen; /* ... when rings were last looked for (debug/ring_report.c) */
    uint32_t rings_due;          /* the earliest time for the next look, in coarse milliseconds */
    int64_t io_looked;           /* when the poller was last read */
    int64_t io_asked;            /* ... or it was asked whether it is time for that */
    int pace;                    /* picks from one look around to the next: at most s->picks */
    void *io_scratch;            /* of the io room; PyMem_RawFree'd with the thread */
    PyObject *io_spare;          /* ... and a bytes object that nothing else refers to, or NULL */
    int asleep;                  /* waits for ever inside loomlet */
    uint64_t wakes;              /* how often it has woken */
    int ending;                  /* its thread is about to end: no tasklet may come here */
    int running;                 /* inside run() */
    uint64_t run_id;             /* ... while its function has a stack of ours: guests/fiber.h */
    void *run_caller;            /* what of it main has left on the thread's stack: guests/run.c */
    int profiled;        /* tasklets have taken turns while these were on: c_trace_by_profiler() */
    int killing;         /* inside s_kill_all */
    int signalled;       /* main was woken to run handlers of signals */
    s_left_wait left;    /* ... and has left a soft wait for that */
    int unfinished;      /* the current tasklet is left with an s_rest */
    unsigned char round; /* of s_kill_all */
    unsigned long thread_id;

    s_run_interval longest;
    uint64_t fixed_stack_of;   /* the id that s_claim_fixed_stack has admitted; 0: none */
    struct s_preempt *preempt; /* its slices and its budget; NULL before the first */
    s_stackless_sched stackless;
    b_link object_calls[S_OBJECT_BUCKETS]; /* that may wait: sync/object_mutex.h */

    /* From here on what outlives a thread, because others may be looking at it. */
    int ended;                   /* 0 while its thread lives */
    struct s_carriers *carriers; /* carrier.h; NULL before the first handoff */
    s_sched *next;               /* in the list of all schedulers */
    p_lock inbox_lock;           /* guards closed, woken and messages */
    int closed;                  /* takes no more messages */
    b_link woken;                /* tasklets woken by other threads */
    struct s_message *messages, **messages_end;
    int refresh; /* all its tasklets must look whether they are cancelled; with has_messages */
    struct s_completion *arrived; /* the last one first; atomic */
    p_lock wakeup_lock;           /* the poller is opened, closed and woken under it */
    p_poller poller;
    uint64_t polls; /* 0: there is no poller; else a number that no other one has had */
};

/* Set by an upper room: inside run() threads are tasklets. */
extern int s_threads_are_tasklets;

extern __thread s_sched *s_self_ __attribute__((tls_model("initial-exec")));

/* The scheduler that is on the calling thread at this moment, or NULL: see scheduler.h. */
static inline s_sched *s_self_here(void)
{
    return s_self_;
}

/* The calling thread gets a scheduler, or (NULL) has none; where that is written down, for others
 * that take the scheduler from the thread (carrier.h). */
static inline void s_self_set(s_sched *s)
{
    s_self_ = s;
}

static inline s_sched **s_self_cell(void)
{
    return &s_self_;
}

/* Of a scheduler whose thread is held: whether an operation of ours may be half done there.  See
 * scheduler.h. */
static inline int s_is_in_operation(const s_sched *s)
{
#if C_FREE_THREADED
    return s->asked_at != NULL && s->asked_at == c_position(s->ts);
#else
    (void)s;
    return 0;
#endif
}

/* What the kernel asks of the rooms above it; set once at import. */
typedef struct {
    /* A new exception instance for an S_E_... code; NULL with an exception set. */
    PyObject *(*error)(int code, PyObject *about);
    /* A tasklet that nothing waits for died of `exception`; runs as that tasklet. */
    void (*failed)(s_tasklet *t, PyObject *exception);
    /* A blocked tasklet was collected, or a ready one never ran before its thread ends. */
    void (*abandoned)(s_tasklet *t);
    /* Nothing refers to a tasklet, and it catches every TaskletExit. */
    void (*refused)(s_tasklet *t);
    /* 1 when the exception ends a tasklet silently. */
    int (*is_exit)(PyObject *exception);
    /* 1 when code outside of its group threw the exit exception into a child: the group fails. */
    int (*is_foreign_kill)(PyObject *exception);
    /* What waiting for `t` raises, which an exit exception has ended; NULL with an exception set.
     * Runs no Python code. */
    PyObject *(*exited)(s_tasklet *t);
    PyTypeObject *type;
    PyTypeObject *main_type; /* of main tasklets; NULL: the same */
    /* Descriptors have become ready: wakes the tasklets that wait for them. */
    void (*io_ready)(s_sched *s, const p_event *events, int count);
    /* In the child of a fork, which has a new poller, or (s->polls is 0) none. */
    void (*io_after_fork)(s_sched *s);
    /* Of the threads that run functions for tasklets: how many are idle, and so wake no tasklet;
     * returns a number that changes when one of them is given work. */
    int64_t (*resting)(int *idle);
    /* New waits may have closed a ring of tasklets that wait for each other: finds and reports it.
     * Python code may run. */
    void (*find_ring)(s_sched *s);
    /* Runs the handlers of signals that were left for main; when `now` is 0, because an exception
     * is set, the interpreter runs them later.  0, or -1 with a handler's exception.  The pointer
     * is NULL while no signal can be left. */
    int (*handle_left_signals)(int now);
} s_hooks;
extern s_hooks s_hook;

/* ---- inline on the structures ---------------------------------------------------------- */

/* The time in coarse milliseconds, which wrap around after 52 days. */
static inline uint32_t s_coarse_ms(int64_t nanoseconds)
{
    return (uint32_t)((uint64_t)nanoseconds >> 20);
}

/* Main is alone, but threads are tasklets: a signal handler may start one. */
static inline int s_waits_as_thread(const s_sched *s)
{
    return s->running && s_threads_are_tasklets && b_list_empty(&s->all);
}

/* Its frames are all that is kept. */
static inline int s_is_soft(const s_tasklet *t)
{
    return (t->saved_as >= S_FRAMES && t->saved_as <= S_FRAMES_CALLED) ||
           t->saved_as == S_FRAMES_UNFINISHED;
}

static inline s_tasklet *s_of_link(b_link *link)
{
    return B_CONTAINER(link, s_tasklet, wait.link);
}

/* Whether the current tasklet may begin to wait: 0, S_E_TRAPPED, S_E_CANCELLED. */
static inline int s_may_block(s_sched *s)
{
    if (__builtin_expect(s->trap, 0))
        return S_E_TRAPPED;
    return __builtin_expect(s->current->cancelled, 0) ? S_E_CANCELLED : S_OK;
}

/* Appends a tasklet of this scheduler that the caller owns and that is in no queue. */
static inline void s_ready(s_sched *s, s_tasklet *t)
{
    t->state = S_READY;
    b_append(&s->ready, &t->wait.link);
}

/* The current tasklet begins to wait in `queue`; under the queue's lock. */
static inline void s_enqueue(s_tasklet *me, b_link *queue, const s_wait_kind *kind, void *on)
{
    me->kind = kind;
    me->on = on;
    me->state = S_BLOCKED;
    me->queued = 1;
    b_append(queue, &me->wait.link);
}

/* Claims the tasklet whose own wait node `link` is; under the queue's lock. */
static inline s_tasklet *s_dequeue(b_link *link)
{
    s_tasklet *t = s_of_link(link);
    b_unlink(link);
    t->queued = 0;
    return t;
}

/* The detach of a wait with one node in one queue. */
static inline int s_leave_queue(s_tasklet *t, c_lock *lock)
{
    c_lock_take(lock);
    int queued = t->queued;
    if (queued)
        s_dequeue(&t->wait.link);
    c_lock_give(lock);
    return queued;
}

/* Blocked without a deadline in a queue that belongs to no thread. */
static inline int s_waits_anywhere(const s_tasklet *t)
{
    return t->state == S_BLOCKED && t->kind->anywhere && t->timer == NULL;
}

/* Blocked, but insert() and run() may end the wait. */
static inline int s_is_insertable(const s_tasklet *t)
{
    return t->state == S_BLOCKED && t->kind->insertable;
}

/* The object that a blocked tasklet waits for: a new reference, or NULL with no exception. */
static inline PyObject *s_waited_object(s_tasklet *t)
{
    s_target found = {0};
    if (t->kind->object != NULL)
        return t->kind->object(t);
    if (t->kind->target != NULL)
        t->kind->target(t, 0, &found);
    return Py_XNewRef(found.object);
}

#endif
