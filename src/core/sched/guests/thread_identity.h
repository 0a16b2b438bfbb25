/* What a tasklet has that code expects a thread to have: see thread_identity.c. */
#ifndef LOOMLET_SCHED_THREAD_IDENTITY_H
#define LOOMLET_SCHED_THREAD_IDENTITY_H

#include "sched/types.h"

/* t->identity.  All owned, NULL where there is none. */
typedef struct s_identity {
    PyObject *key;    /* the ident of a thread, else s_identity_number(): an int */
    PyObject *locals; /* weak references to the locals that hold values for it: a list */
    PyObject *end;    /* a lock that is held until it has ended */
    PyObject *handle; /* of threading, from 3.13 on */
    uintptr_t ident;  /* of p_ident_take(); 0: it is no thread */
    int is_thread;    /* it was started as a thread, and is one for all code that asks */
} s_identity;

/* Set by an upper room: the tasklet has ended, or will not run again; nothing that belongs to its
 * identity may stay behind. */
typedef void s_identity_handler(s_tasklet *t);
extern s_identity_handler *s_identity_dropped;

/* The tasklet's record, made if there is none; NULL with an exception. */
s_identity *s_identity_make(s_tasklet *t);
/* The same for a new tasklet that will be a thread: with an ident. */
s_identity *s_identity_make_thread(s_tasklet *t);
/* In the child of a fork: it never runs again, and what it holds stays held. */
void s_retire(s_sched *s, s_tasklet *t);

/* Whether it was started as a thread. */
static inline int s_is_thread(const s_tasklet *t)
{
    return t->identity != NULL && t->identity->is_thread;
}

/* By which it owns locks: odd, which the ident of no thread is, and never another's. */
static inline unsigned long long s_identity_number(const s_tasklet *t)
{
    return t->id * 2 + 1;
}

/* What a tasklet waits for is held by the one with this ident; 0: by none that is known. */
static inline void s_set_target_owner(s_target *target, unsigned long long ident)
{
    target->holder = ident & 1 ? ident / 2 : 0;
    target->thread = ident & 1 ? 0 : (unsigned long)ident;
}

#endif
