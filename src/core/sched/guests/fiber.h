/* Fibers: several C stacks of one tasklet, between which its own code switches.  See fiber.c. */
#ifndef LOOMLET_SCHED_FIBER_H
#define LOOMLET_SCHED_FIBER_H

#include "sched/types.h"

enum s_fiber_state { S_FIBER_NEW, S_FIBER_RUNNING, S_FIBER_SUSPENDED, S_FIBER_ENDED };

/* One of them; the head of a Python object. */
typedef struct {
    PyObject_HEAD
    c_state c;          /* where it stands while it is suspended, and its first chunk */
    p_stack *stack;     /* while it is suspended */
    uint64_t tasklet;   /* the id of the tasklet that it belongs to; 0: none before the start.  Of
                         * main inside run(), which has a stack of ours there: s->run_id */
    s_sched *scheduler; /* ... and its scheduler, which another thread may have afterwards, */
    uint64_t thread;    /* ... and the id of that thread's main tasklet */
    unsigned char state;
} s_fiber;

/* The fibers of a tasklet; owned references. */
typedef struct s_fiber_set {
    s_fiber *running, *first;
    s_fiber *left;   /* the one that was left for `running`, until that one runs */
    PyObject *error; /* the last function of a fiber failed; raised where the first one resumes */
} s_fiber_set;

/* Runs a fiber to its end, and returns the fiber (a new reference) that runs afterwards, or NULL
 * with an exception: then it is the tasklet's first one.  Set once at import. */
extern PyObject *(*s_fiber_run)(PyObject *fiber);

/* Makes `fiber`, which is new, the one that the current tasklet has been running in, and which
 * began with it: 0 or S_E_MEMORY. */
int s_fiber_begin(s_sched *s, s_fiber *fiber);
/* Whether the current tasklet may switch to it: it is new, or suspended and belongs to it. */
int s_fiber_may_run(const s_sched *s, const s_fiber *fiber);
/* Suspends the running fiber for another one, which may run: 0 when it resumes, or S_E_MEMORY,
 * S_E_SET. */
int s_fiber_switch(s_sched *s, s_fiber *next);
/* What the fibers of the current tasklet have as `tasklet`. */
uint64_t s_fiber_owner_id(const s_sched *s);
/* A fiber of this thread belongs to the current tasklet from now on. */
void s_fiber_adopt(s_sched *s, s_fiber *fiber);
/* Whether its C stack is one of this thread. */
int s_fiber_is_here(const s_sched *s, const s_fiber *fiber);
/* Whether its thread has ended, so that it never runs again; 0 may be out of date. */
int s_fiber_is_lost(const s_sched *s, const s_fiber *fiber);
/* Takes the fibers of a tasklet, which runs in its first one, from it: NULL for none. */
s_fiber_set *s_fiber_set_put_aside(s_tasklet *t);
/* Gives them back; what it has begun since then ends, as at the end of a tasklet. */
void s_fiber_set_restore(s_sched *s, s_tasklet *t, s_fiber_set *all);
int s_fiber_visit(s_fiber *fiber, visitproc visit, void *arg);
/* Before its memory is freed.  What a suspended one keeps on its C stack is lost. */
void s_fiber_free(s_fiber *fiber);

#endif
