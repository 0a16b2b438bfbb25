/* Whom the GIL's drop wakes, and how computing threads wait for a thread that needs the GIL for
 * microseconds: gil_turns.c.  For gil.c. */
#ifndef LOOMLET_GIL_TURNS_H
#define LOOMLET_GIL_TURNS_H

#include "cpython/layout.h"

#include "base/b_turns.h"

#ifndef Py_GIL_DISABLED

/* That of one wait for the GIL. */
typedef struct {
    int comes; /* the thread goes first: it is counted in the turns */
    b_link link;
    p_parker parker;
} c_turn;

static inline int gil_is_taken(const struct _gil_runtime_state *gil)
{
    return __atomic_load_n((const int *)&gil->locked, __ATOMIC_RELAXED) > 0;
}

static inline uintptr_t gil_holder(const struct _gil_runtime_state *gil)
{
    return __atomic_load_n((const uintptr_t *)&gil->last_holder, __ATOMIC_RELAXED);
}

/* Once is enough: from now on threads can go first.  `await` waits until the GIL is free, for a
 * thread that goes first; `is_brief`: the holder has come back from I/O. */
void c_turns_intercept(const struct _gil_runtime_state *gil,
                       void (*await)(struct _gil_runtime_state *gil),
                       int (*is_brief)(uintptr_t holder));
/* Whether what comes at a drop will come: drops are intercepted, and the interpreter is not about
 * to end.  0 also while a thread waits for the GIL that does not sleep. */
int c_turns_may_postpone(void);
/* The caller goes first from now on, if threads can. */
void c_turn_begin(c_turn *turn);
/* It does not any more, and tries the GIL like others, at once. */
void c_turn_end(c_turn *turn);
/* The GIL was free: it goes to take it, at once, and first until it has had it. */
void c_turn_take(c_turn *turn);
/* Sleeps until its turn has come or until then.  Takes over the GIL's mutex and gives it. */
void c_turn_sleep(c_turn *turn, struct _gil_runtime_state *gil, int64_t until);
/* Whether a thread waits for the GIL that does not sleep. */
int c_turns_stands(void);
/* Whether threads that come back from I/O find others computing at present. */
void c_turns_contended(int are);
/* From now on everybody waits like others. */
void c_turns_end(void);
/* In the child of a fork. */
void c_turns_after_fork(void);

#endif
#endif
