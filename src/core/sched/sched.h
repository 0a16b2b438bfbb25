/* Tasklets and their scheduler: the structures and the contract of this room.
 *
 * One scheduler per OS thread, made on first use; it owns the thread's tasklets.
 * A tasklet runs only on its home scheduler's thread.  The main tasklet is the
 * thread's original flow of control; it keeps the thread's own C stack.
 *
 * References.  A tasklet that runs is owned by its scheduler (`current`).  A
 * ready one is owned by the run queue, a blocked one by what it waits for (each
 * queue place owns one reference), a sleeping one by its timer, a paused one by
 * whoever holds it.  The list of all tasklets owns nothing.
 *
 * Blocking.  An upper room queues me->wait somewhere, fills `kind` and `on`, and
 * calls s_suspend.  Whoever ends the wait takes the tasklet out of that queue
 * (that is the claim: it happens under the queue's lock, once), stores in
 * wait.value what the blocked call shall return, or in `error` what it shall
 * raise, and calls s_wake.  With neither, an iteration ends.  So no C code of
 * the blocked call needs to run again, and the C stack can be abandoned.
 *
 * Threads.  Everything here runs on the scheduler's own thread with its thread
 * state attached, except s_wake, s_post_message and s_wake_thread, which any attached thread may
 * call. Fields of a tasklet belong to its home thread, except `wait` and `error` between the claim
 * and s_wake.
 *
 * Errors.  Functions return 0 or a negative S_E... code; S_E_SET says that a
 * Python exception is set already.  bind/errors.c turns the others into
 * exceptions.
 */
#ifndef LOOMLET_SCHED_H
#define LOOMLET_SCHED_H

#include "base/b_heap.h"
#include "base/b_list.h"
#include "base/b_spin.h"
#include "cpython/cpython.h"
#include "plat/plat.h"
#include "sched/error_codes.h"

typedef struct s_tasklet s_tasklet;
typedef struct s_sched s_sched;

enum s_state { S_NEW, S_READY, S_RUNNING, S_BLOCKED, S_PAUSED, S_DONE };

/* Where a tasklet's execution is kept while it does not run. */
enum s_saved_as {
    S_NOT_STARTED,
    S_FRAMES,
    S_FRAMES_AT_SAFEPOINT,
    S_C_STACK,
    S_LIVE
}; /* S_FRAMES_AT_SAFEPOINT: soft, at a check */

/* A place in a queue.  `value`: what a waiting sender offers; after the claim,
 * what the blocked call returns.  Owns its references. */
typedef struct s_wait {
    b_link link;
    s_tasklet *task;
    PyObject *value;
} s_wait;

/* One thing that a blocked tasklet waits for. */
typedef struct {
    PyObject *object;     /* borrowed; NULL: none that has an address */
    PyObject *name;       /* of the object: borrowed, or NULL */
    uint64_t holder;      /* the id of the tasklet that can end the wait; 0: nobody in particular */
    unsigned long thread; /* ... or the OS thread */
} s_target;

/* One reason to wait; upper rooms define theirs as constants. */
typedef struct s_wait_kind {
    const char *name;
    /* Takes a blocked tasklet out of all queues; 1 when done (the caller then owns
     * its reference), 0 when somebody else claimed it first.  Home thread. */
    int (*detach)(s_tasklet *t);
    /* The object waited for: a new reference, or NULL with no exception for none.  NULL: that of
     * its first target.  Called by s_waited_object. */
    PyObject *(*object)(s_tasklet *t);
    /* The i-th thing waited for, read as plain memory (dump.c): 1, or 0 behind the last. */
    int (*target)(const s_tasklet *t, int i, s_target *found);
    /* What the call returns when its deadline passes; NULL: it raises TimeoutError. */
    PyObject *late;
    /* Visits what the wait itself owns; NULL: nothing. */
    int (*visit)(s_tasklet *t, visitproc visit, void *arg);
    /* Its kind once it was woken, until it runs; NULL: none.  Of such a kind: an exception comes
     * before it has run, so it does not take what it was woken with. */
    const struct s_wait_kind *given;
    void (*refused)(s_sched *s, s_tasklet *t);
    /* Another thread has ended the wait: called at home when that is known; NULL: nothing. */
    void (*arrived)(s_tasklet *t);
    /* The wait is a place in the queue of a thing that belongs to no thread: a tasklet that
     * waits so may get another home. */
    int anywhere;
    int stackless; /* a wait of the Stackless face: so is a deadlock there */
} s_wait_kind;

typedef struct s_timer {
    b_timer node;
    /* Called on the scheduler's thread once the time has come; must not block. */
    void (*fire)(s_sched *s, struct s_timer *timer);
    void *owner;
} s_timer;

/* What it has that code expects a thread to have: own.c.  All owned, NULL where there is none. */
typedef struct {
    PyObject *key;    /* s_identity_number(), as an int */
    PyObject *locals; /* weak references to the locals that hold values for it: a list */
    PyObject *end;    /* a lock that is held until it has ended */
    PyObject *handle; /* of threading, from 3.13 on */
    int is_thread;    /* it was started as a thread, and is one for all who ask */
} s_identity;

struct s_tasklet {
    PyObject_HEAD
    PyObject *weakrefs;
    s_wait wait;             /* its place in the run queue or in the queue it waits in */
    const s_wait_kind *kind; /* why it is blocked; of a paused one: control.c */
    void *on;                /* ... and on what; meaning by kind */
    c_state c;
    p_stack *stack; /* S_C_STACK: its C stack */
    s_sched *owner;
    b_link all;     /* in its owner's list of all tasklets */
    PyObject *func; /* after the end: its name, if it was a Python function */
    union {
        PyObject *args; /* before the start: positional ones, then keyword values */
        PyObject *result;
    };
    union {
        PyObject *kwnames;
        PyObject *failure; /* the exception that ended it */
    };
    PyObject *error; /* to be raised when it goes on */
    PyObject *name;
    PyObject *scope;          /* innermost cancel scope: scope.h */
    s_timer *timer;           /* deadline of the present wait */
    c_event_loop *event_loop; /* an event loop of asyncio runs in it: loop.c */
    c_trace *trace;           /* it has called sys.settrace or sys.setprofile: trace.c */
    s_identity *identity;     /* locals, the identity of a thread: thread_identity.c */
    b_link joiners; /* s_wait of tasklets that wait for its end; not a list before the first */
    uint64_t id;
    unsigned char state, saved_as, started;
    unsigned char cancelled; /* every blocking call raises Cancelled */
    unsigned char owned;     /* a group takes its failure */
    unsigned char attached;  /* what it has of guests: events.h */
    unsigned char is_main;
    unsigned char
        queued; /* its place is in the queue of what it waits for; under that queue's lock */
    unsigned char round;          /* of s_kill_all that killed it last */
    unsigned char stackless;      /* made by the Stackless face, whose rules it follows */
    unsigned char atomic;         /* never preempted */
    unsigned char ignore_nesting; /* a tick watchdog may interrupt it inside C callers */
    unsigned char block_trap;     /* an operation that would wait raises instead */
    unsigned char due;            /* a preemption was withheld and is still wanted */
    unsigned char why;            /* the last switch was hard: C_... of cpython.h */
    unsigned char held;           /* somebody drops or begins its run: home.c */
    unsigned short nopreempt;     /* how often it is inside nopreempt() */
    c_lock lock;
    uint32_t since; /* when it got or left the core, in ticks (s_coarse_ms) */
};

/* The time in ticks of about a millisecond, which go round after 52 days. */
static inline uint32_t s_coarse_ms(int64_t nanoseconds)
{
    return (uint32_t)((uint64_t)nanoseconds >> 20);
}

/* Whether it was started as a thread. */
static inline int s_is_thread(const s_tasklet *t)
{
    return t->identity != NULL && t->identity->is_thread;
}

/* Its ident where tasklets have one: odd, which that of no thread is. */
static inline unsigned long long s_identity_number(const s_tasklet *t)
{
    return t->id * 2 + 1;
}

/* Only its frames are kept. */
static inline int s_is_soft(const s_tasklet *t)
{
    return t->saved_as == S_FRAMES || t->saved_as == S_FRAMES_AT_SAFEPOINT;
}

/* Who has held a core longest at one go, as text: the tasklet may be gone. */
typedef struct {
    uint32_t ticks;
    int line;
    uint64_t id;
    char name[64], function[64], file[160];
} s_run_interval;

struct s_sched {
    s_tasklet *current, *main, *idler;
    s_tasklet *leaving; /* pauses itself; our reference goes once it is left */
    b_link ready;
    uint32_t coarse_now; /* the time, as last looked at: held.c */
    uint32_t notice;     /* from so many ticks on a hold of the core is noted */
    int budget;          /* picks until the clock and the mail are looked at */
    int picks;           /* ... as many as that: s_picks() */
    int trap;            /* > 0: inside a callback, or trapped: nothing may switch */
    int trapped;         /* the level that switch_trap() asked for; counts once in `trap` */
    int reporting;   /* `trap` inside the error handler, which may still wait for a stock lock */
    int in_callback; /* of the Stackless face, which runs Python code before a switch */
    s_tasklet *departed; /* it has ended, the listener is still to be told of it */
    int soft;            /* s_soft_mode() */
    int only_hard;       /* why the current tasklet is always switched hard: C_...; 0: it is not */
    p_stack *stack;      /* the one we run on */
    p_stack own_stack;
    p_stack *spare;
    int spares, spares_idle; /* how many, and the fewest since the last were given back */
    uint32_t trimmed;        /* when that was, in ticks */
    PyThreadState *ts;
    unsigned long count_soft, count_hard, count_why[C_HARD_REASON_COUNT];

    b_heap timers;
    int64_t virtual_now; /* < 0: the real clock */
    uint64_t random;     /* seeded run order; 0 = first in, first out */
    unsigned coin;       /* of torture */

    b_link all;         /* tasklets whose home is here; guarded by all_lock */
    Py_ssize_t natives; /* those of them that are not of the Stackless face */
    c_lock all_lock;

    int has_messages;
    p_parker parker;
    b_spin spin;            /* whether to stay awake for a moment before sleeping */
    Py_ssize_t io_waits;    /* tasklets that wait for descriptors: poll.c */
    Py_ssize_t call_waits;  /* tasklets that wait for a function on another thread: io/blocking.h */
    Py_ssize_t completions; /* completions that tasklets wait for */
    int64_t io_looked;      /* when the poller was last looked at */
    void *io_scratch;       /* of the io room; PyMem_RawFree'd with the thread */
    PyObject *io_spare;     /* ... and a bytes object that nobody else has yet, or NULL */
    int asleep;             /* waits for ever inside loomlet */
    int ending;             /* its thread is about to end: no tasklet may come here */
    int running;            /* inside run() */
    unsigned char round;    /* of s_kill_all */
    unsigned long thread_id;

    b_link watches; /* callers of run(), innermost first: stackless_run.c */
    b_link dead;    /* ended Stackless tasklets whose home is here; guarded by all_lock */
    int overdue;    /* a soft run() has expired */
    int watched;    /* run() was called */
    int idled;      /* the current tasklet left the core before the thread slept */
    s_run_interval longest;
    struct s_preempt *preempt; /* its slices and ticks; NULL before the first */
    int pickle_flags;

    /* From here on what outlives a thread, because others may be looking at it. */
    int ended;         /* 0 while its thread lives */
    s_sched *next;     /* in the list of all schedulers */
    p_lock inbox_lock; /* guards closed, woken and messages */
    int closed;        /* takes no more messages */
    b_link woken;      /* tasklets woken by other threads */
    struct s_message *messages, **messages_end;
    struct s_completion *arrived; /* the last one first; atomic */
    p_lock wakeup_lock;           /* the poller is opened, closed and rung under it */
    p_poller poller;
    uint64_t polls; /* 0: there is no poller; else a number that no other one has had */
};

/* What the scheduler asks of the rooms above it; set once at import. */
typedef struct {
    /* A new exception instance for an S_E_... code; NULL with an exception set. */
    PyObject *(*error)(int code, PyObject *about);
    /* A tasklet nobody waits for died of `exception`; runs as that tasklet. */
    void (*failed)(s_tasklet *t, PyObject *exception);
    /* One with an `own` has ended, or will not run again: nothing of that may stay behind. */
    void (*leaves)(s_tasklet *t);
    /* A blocked tasklet was collected. */
    void (*abandoned)(s_tasklet *t);
    /* 1 when the exception ends a tasklet silently. */
    int (*is_exit)(PyObject *exception);
    /* One call of C held the core that long; runs as that tasklet, behind the call. */
    void (*stalled)(s_tasklet *t, int64_t nanoseconds);
    /* Before time slices begin, again and again: 0, or -1 with an exception. */
    int (*before_slices)(void);
    PyTypeObject *type;
    PyTypeObject *main_type; /* of main tasklets; NULL: the same */
    /* Stackless: a new exception instance for a code; NULL with an exception set. */
    PyObject *(*stackless_error)(int code);
    /* Stackless: its error handler is asked; what is left to raise (new), or NULL. */
    PyObject *(*handled)(s_tasklet *t, PyObject *exception);
    /* Stackless: nothing holds it, and it catches every TaskletExit. */
    void (*refused)(s_tasklet *t);
    /* The thread goes from one tasklet (NULL: it begins) to another; never `to` from itself.
     * NULL: nobody listens.  Set with s_listen. */
    void (*switching)(s_sched *s, s_tasklet *from, s_tasklet *to);
    /* Descriptors have become ready: wakes who waits for them. */
    void (*io_ready)(s_sched *s, const p_event *events, int count);
    /* In the child of a fork, which has a new poller, or (s->polls is 0) none. */
    void (*io_after_fork)(s_sched *s);
    /* Of the threads that run functions for tasklets: how many have nothing to do, and so wake
     * nobody; returns a number that changes when one of them is given work. */
    int64_t (*resting)(int *idle);
} s_hooks;
extern s_hooks s_hook;

/* ---- schedulers (scheduler.c) -------------------------------------------------- */

extern __thread s_sched *s_self_ __attribute__((tls_model("initial-exec")));
s_sched *s_self_make(void);

/* The calling thread's scheduler; NULL with an exception set without memory. */
static inline s_sched *s_self(void)
{
    s_sched *s = s_self_;
    return __builtin_expect(s != NULL, 1) ? s : s_self_make();
}

extern int s_soft_wanted, s_pickle_flags;
/* What LOOMLET_TORTURE asks for: bits, for the whole process. */
enum {
    S_TORTURE_SWITCH = 1, /* soft and hard by turns, the slow path at every pick */
    S_TORTURE_MOVE = 2,   /* go on upon another, scribbled C stack after every soft switch */
    S_TORTURE_ALLOC = 4,  /* frame chunks are scribbled when taken and when freed */
};
extern int s_torture;
/* 0 hard only, 1 soft where it may be, 2 the same, but every switch takes the slow way. */
int s_soft_mode(const s_sched *s, int wanted);
/* How many picks of the run queue go by between two slow ones: 1 when each is to be slow. */
int s_picks(const s_sched *s);
/* One reason more (1) or less (-1) for all switches to take the slow way. */
void s_slow_switches(int change);
/* Every scheduler looks again which mode it may switch in. */
void s_refresh_modes(void);
/* Sets s_hook.switching: while it is set every switch takes the slow way. */
void s_listen(void (*switching)(s_sched *s, s_tasklet *from, s_tasklet *to));
/* Adds to the level of switch_trap(); returns the old level. */
int s_switch_trap(s_sched *s, int change);
/* The tasklets that have not ended, as new references in a PyMem_RawMalloc'ed array;
 * their number, or S_E_MEMORY. */
Py_ssize_t s_tasklets(s_sched *s, s_tasklet ***found);
/* The main one first; none but that without memory. */
void s_for_each_tasklet(s_sched *s, void (*call)(s_tasklet *t));
/* Ends every tasklet of this scheduler but the current one; their `finally` runs. */
int s_kill_all(s_sched *s);
/* From now on main tasklets are of that type, those that exist too. */
void s_retype_mains(PyTypeObject *type);
/* The scheduler of a living thread, or NULL. */
s_sched *s_sched_of_thread(unsigned long thread_id);
void s_after_fork(void);
s_sched *s_sched_of(PyThreadState *ts);
/* The first in the list of all schedulers, ended ones too. */
const s_sched *s_first_scheduler(void);
/* The name of a tasklet as its `name` would be, read as plain memory, with a 0 behind it: its size.
 * `room` is 32 or more. */
size_t s_peek_name(const s_tasklet *t, char *to, size_t room);

/* ---- the life of a tasklet (tasklet.c) ---------------------------------------- */

/* Fills a zeroed object.  `args` and `kwnames` as in c_start; all borrowed. */
int s_tasklet_init(s_sched *s, s_tasklet *t, PyObject *func, PyObject *args, PyObject *kwnames);
int s_main_init(s_sched *s, s_tasklet *t);
/* A new tasklet, ready: a new reference, or NULL and a code.  Arguments as above. */
s_tasklet *s_spawn(s_sched *s, PyObject *func, PyObject *args, PyObject *kwnames, int *code);
/* Makes a zeroed object an ended tasklet of `s`: one that s_rebind can begin. */
void s_unbound_init(s_sched *s, s_tasklet *t);
/* Calls work(arg), which looks at `t` or changes it, and runs no Python code: on its home
 * thread at once, elsewhere while all others are stopped. */
void s_run_on_owner(const s_tasklet *t, void (*work)(void *arg), void *arg);
/* Takes hold of a tasklet that has ended, or (alive) is paused and held by no C frame: from
 * now on it has ended for everybody else.  With `func` its function too, *func: given, or
 * NULL and then what it is bound to (new).  Or S_E_ALIVE, S_E_BLOCKED, S_E_UNBOUND: nothing
 * has happened. */
int s_claim_for_rebinding(s_tasklet *t, int alive, PyObject **func);
void s_release_claim(s_tasklet *t);
/* Of a held one: drops its frames, no `finally` runs. */
void s_unbind(s_tasklet *t);
/* Makes a held one, and lets it go, one that has not started and is paused; the rest as
 * s_tasklet_init.  S_E_THREAD: its thread has ended. */
int s_rebind(s_tasklet *t, PyObject *func, PyObject *args, PyObject *kwnames);
/* The home of tasklets whose thread has ended. */
extern s_sched s_detached_owner;
int s_visit(s_tasklet *t, visitproc visit, void *arg);
/* Breaks cycles: drops the frames of a suspended tasklet, no `finally` runs. */
void s_clear(s_tasklet *t);
/* The finalizer: a suspended tasklet gets TaskletExit. */
void s_finalize(s_tasklet *t);
/* Out of its home's list of all: before its memory can go. */
void s_registry_remove(s_tasklet *t);
/* The deallocator of the type. */
void s_dealloc(PyObject *self);
void s_finish(s_sched *s, s_tasklet *t, PyObject *result);

/* ---- switching (switch.c) ------------------------------------------------------ */

/* The current tasklet, queued already where it belongs, stops here and the next
 * one runs.  Returns what it was woken with (a new reference), or NULL with an
 * exception, or NULL without one (the end of an iteration). */
PyObject *s_suspend(s_sched *s, const c_call_site *site);
/* The same, but `next` (owned by the caller, in no queue) runs now. */
PyObject *s_transfer(s_sched *s, s_tasklet *next, const c_call_site *site);
/* The same inside a check of the interpreter loop; what it returns is of no use there. */
PyObject *s_transfer_at_safepoint(s_sched *s, s_tasklet *next, const c_call_site *check);
PyObject *s_schedule(s_sched *s, const c_call_site *site);
/* The same; the caller's own call returns `mine` (stolen). */
PyObject *s_schedule_with(s_sched *s, PyObject *mine, const c_call_site *site);
/* `t` (as for s_transfer) runs now, the caller waits at the head of the run queue. */
PyObject *s_run_before_me(s_sched *s, s_tasklet *t, const c_call_site *site);
/* The same; the caller's own call returns `mine` (stolen). */
PyObject *s_run_before_me_with(s_sched *s, s_tasklet *t, PyObject *mine, const c_call_site *site);
/* The same in the order of the ring, `t` in no queue: the caller goes to the tail. */
PyObject *s_run_after_me_with(s_sched *s, s_tasklet *t, PyObject *mine, const c_call_site *site);
p_stack *s_stack_take(s_sched *s);
void s_stack_give(s_sched *s, p_stack *stack);

/* ---- queues and waking (queue.c, mail.c) ----------------------------------------- */

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

/* Appends a tasklet of this scheduler that the caller owns and nobody queues. */
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

/* Claims the tasklet whose own place `link` is; under the queue's lock. */
static inline s_tasklet *s_dequeue(b_link *link)
{
    s_tasklet *t = s_of_link(link);
    b_unlink(link);
    t->queued = 0;
    return t;
}

/* The detach of a wait with one place in one queue. */
static inline int s_leave_queue(s_tasklet *t, c_lock *lock)
{
    c_lock_take(lock);
    int queued = t->queued;
    if (queued)
        s_dequeue(&t->wait.link);
    c_lock_give(lock);
    return queued;
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

/* Makes a claimed tasklet go on, wherever its home is.  Takes the reference. */
void s_wake_slow(s_sched *s, s_tasklet *t);
static inline void s_wake(s_sched *s, s_tasklet *t)
{
    if (__builtin_expect(t->owner != s || t->timer != NULL, 0)) {
        s_wake_slow(s, t);
        return;
    }
    t->kind = NULL;
    s_ready(s, t);
}
/* The same for a tasklet of another thread, which is not woken yet: whom to s_wake_thread for that,
 * attached or not; NULL when nobody can run it any more. */
s_sched *s_wake_on_owner(s_tasklet *t);
/* Ends the wait of a blocked tasklet with `error` (stolen).  1 when it did. */
int s_interrupt(s_sched *s, s_tasklet *t, PyObject *error);
/* The same from any thread: on another one than its owner's it is requested, and 1 is returned. */
int s_request_interrupt(s_sched *s, s_tasklet *t, PyObject *error);
/* The innermost Python function of a tasklet of this thread, as a new reference, and its line: 1,
 * or 0 if there is none. */
int s_find_location(s_sched *s, s_tasklet *t, PyObject **code, int *line);
/* Wakes `t` with `error` (stolen), whatever it waits for. */
void s_raise_in(s_sched *s, s_tasklet *t, PyObject *error);
/* Wakes the thread of a scheduler whose mail is visible. */
void s_wake_poller(s_sched *to);
static inline void s_wake_thread(s_sched *to)
{
    if (__atomic_load_n(&to->polls, __ATOMIC_SEQ_CST))
        s_wake_poller(to);
    else
        p_unpark(&to->parker);
}
/* Lets go of the waiters of a queue that is destroyed: nothing can wake them there. */
void s_forget_waiters(b_link *queue);
/* The next tasklet to run, taken out of the run queue; waits for one. */
s_tasklet *s_next_slow(s_sched *s);

/* ---- operations on tasklets (control.c) -------------------------------------------- */

int s_insert(s_sched *s, s_tasklet *t);
int s_remove(s_sched *s, s_tasklet *t);
/* How a tasklet is run at once.  The order of the ring: the caller keeps its place in the
 * circle of runnable tasklets, so that what stands between `t` and it runs before it. */
enum { S_PAUSE = 0, S_STAY = 1, S_RING = 2 };
PyObject *s_run_now(s_sched *s, s_tasklet *t, int how, const c_call_site *site, int *code);
/* The current tasklet stops and is in no queue; somebody must insert() it. */
PyObject *s_pause(s_sched *s, const c_call_site *site, int *code);
/* The same by the rules of the Stackless face; its call returns `mine` (stolen). */
PyObject *s_pause_removed(s_sched *s, PyObject *mine, const c_call_site *site, int *code);
/* Makes `s` the home of a tasklet that cannot run now: 0, S_E_BLOCKED when its thread is
 * about to run it, S_E_STUCK when C frames hold it, S_E_THREAD when `s` has ended. */
int s_change_owner(s_sched *s, s_tasklet *t);
/* Steals `error`. */
PyObject *s_throw(s_sched *s, s_tasklet *t, PyObject *error, int how, const c_call_site *site,
                  int *code);
/* The exception is raised when it goes on; it becomes runnable, the caller goes on.  Steals. */
int s_throw_later(s_sched *s, s_tasklet *t, PyObject *error);
PyObject *s_join(s_sched *s, s_tasklet *t, int64_t until, int want_result, const c_call_site *site,
                 int *code);

/* ---- trace and profile functions (trace.c) ----------------------------------------- */

/* The current tasklet is about to set its own: 0 or S_E_MEMORY. */
int s_trace_prepare(s_sched *s);
/* ... and has set or taken off one. */
void s_trace_update(s_sched *s);
/* Its trace or profile function (C_TRACE, C_PROFILE): borrowed, or NULL. */
PyObject *s_trace_of(const s_tasklet *t, int which);
/* Sets that of a tasklet that does not run, by set(function): 0 or S_E_. */
int s_trace_set(s_sched *s, s_tasklet *t, PyObject *(*set)(PyObject *function), PyObject *function);

/* ---- what it has as a thread would (own.c) ------------------------------------------- */

/* The tasklet's record, made if there is none; NULL with an exception. */
s_identity *s_identity_make(s_tasklet *t);
/* In the child of a fork: it never runs again, and what it holds stays held. */
void s_retire(s_sched *s, s_tasklet *t);

/* ---- running event loops of asyncio (loop.c) ---------------------------------------- */

/* The current tasklet is about to have a running loop: 0 or S_E_MEMORY. */
int s_loop_prepare(s_sched *s);
/* ... and has one now, or none any more. */
void s_loop_update(s_sched *s);

/* ---- time (timer.c) ------------------------------------------------------------------ */

int64_t s_now(s_sched *s);
int s_timer_arm(s_sched *s, s_timer *timer, int64_t when);
void s_timer_disarm(s_sched *s, s_timer *timer);
void s_timers_fire(s_sched *s);
/* Gives the current tasklet's wait a deadline; S_E_MEMORY or 0. */
int s_deadline_set(s_sched *s, s_tasklet *t, int64_t when);
void s_deadline_drop(s_sched *s, s_tasklet *t);
PyObject *s_sleep(s_sched *s, int64_t nanoseconds, const c_call_site *site, int *code);

/* ---- waiting for work (idle.c) -------------------------------------------------------- */

/* Sleeps until there may be something to do; delivers signals and deadlocks to the main tasklet. */
void s_idle(s_sched *s);

/* ---- descriptors (poll.c) --------------------------------------------------------------- */

/* From now on the scheduler has a poller: 0, or S_E_SYSTEM - errno. */
int s_poll_begin(s_sched *s);

#define S_FOREVER INT64_MAX

#endif
