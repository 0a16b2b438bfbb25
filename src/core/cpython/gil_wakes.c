/* When a thread wakes another one that needs the GIL.
 *
 * The woken thread often runs at once, in the place of its waker: the system puts both on one
 * processor.  While the waker has the GIL, that thread can only wait for it, and the waker has to
 * run again before it can release it: two or more switches for nothing, and a request for the GIL.
 * So the waker releases the GIL first.  It notes what is to be woken, and asks itself to drop the
 * GIL at its next safepoint, which is where its call returns.  The system call that wakes comes
 * when the GIL is free.
 *
 * Nothing is lost.  Until the waker has released the GIL the other thread could do nothing anyway.
 * Whether it releases it at a safepoint, in a call that blocks, or because it ends, the interpreter
 * signals the GIL's condition variable, and that call is intercepted (gil_turns.c).
 *
 * The mutex.  The waker holds the GIL's mutex at that signal.  Woken then, the other thread would
 * have to wait for it.  So the mutex is unlocked for the wake.  The GIL is free by then, and all
 * that the interpreter still does is to signal and to unlock the mutex.
 *
 * Worth it or not.  A waker that is about to sleep, as in a pair of threads that answer each other,
 * saves two switches per hand-over.  A waker that goes on to compute should keep the GIL, so that a
 * producer can fill its queue before the consumer runs.  What it did after its last wakes decides:
 * a wake is postponed if the waker released the GIL within SOON after the wakes before.  After a
 * wake that was postponed in vain, the next one is postponed only after 1 wake for which it would
 * have been of use, then 3, 7, ... up to MOST (as in b_spin.h).
 *
 * While a thread waits for the GIL nothing is postponed: that thread would get the GIL, and the
 * waker would have to wait for its turn.  Nor is it for a while after a thread was asked for the
 * GIL (CONTENDED in gil.c): that one will want it back, and may just not wait for it yet.
 *
 * A thread postpones one wake at a time; another one that comes before it has released the GIL is
 * done at once.
 *
 * The drop at the safepoint is over when the wake is done.  The interpreter would go on to wait
 * until another thread has the GIL.  That wait is left out (c_wake_is_reason): no waiting thread
 * has asked for the drop.
 *
 * The other side: woken on its own processor by a thread that still has the GIL, a thread yields
 * once (c_wake_yield), which lets the waker go on, and usually finds the GIL free after that.  A
 * yield may also let a third program run, for a whole slice of the system: one that took that long
 * is not repeated soon (as b_spin_fail says, up to YIELD_MOST).
 *
 * Threads.  All; the note belongs to its thread, and is there only while that thread has the GIL.
 *
 * Rejected: releasing the GIL where a tasklet is woken (all callers count on keeping it until they
 * return); not dropping it at the safepoint (a waker that computes would never wake anybody);
 * nothing but the yield (two switches more per wake; pairs of threads on one processor were less
 * than half as fast).
 */
#include "cpython/gil_wakes.h"

#ifndef Py_GIL_DISABLED

#include <errno.h>

#include "base/b_spin.h"

#define SOON 3000
#define MOST 63
#define LONGEST_YIELD 100000
#define YIELD_MOST 8191

static __thread struct {
    void (*wake)(void *what); /* postponed; or NULL */
    void *what;
    int is_reason; /* of its last drop */
    int64_t woke;  /* when it woke another thread, if it has not left the GIL since; or 0 */
    b_spin habit;  /* whether to postpone the next wake */
} own_wake;

__thread int c_wake_leaving;   /* the thread leaves the GIL because it has to */
static __thread b_spin yields; /* whether to yield to a waker on the same processor */
static int64_t postponed;      /* atomic */

static int may_postpone(const struct _gil_runtime_state *gil)
{
    return own_wake.wake == NULL && own_wake.habit.needed == 0 && gil_waiters(gil) == 0;
}

void c_wake(struct _gil_runtime_state *gil, int may_wait, void (*wake)(void *what), void *what)
{
    if (!may_wait || !may_postpone(gil)) {
        wake(what);
        own_wake.woke = p_now();
        return;
    }
    own_wake.what = what;
    own_wake.wake = wake;
    c_wake_leaving = 0;
    gil_ask_holder(gil);
    __atomic_fetch_add(&postponed, 1, __ATOMIC_RELAXED);
}

/* The thread leaves the GIL: soon after it woke another one? */
static void learn_habit(int is_soon)
{
    own_wake.woke = 0;
    if (!is_soon && own_wake.habit.needed == 0)
        b_spin_fail(&own_wake.habit, MOST);
    else if (is_soon && own_wake.habit.needed > 0)
        own_wake.habit.needed--;
    else if (is_soon)
        own_wake.habit.vain /= 2;
}

static void wake_now(struct _gil_runtime_state *gil)
{
    void (*wake)(void *what) = own_wake.wake;
    int why = errno;
    own_wake.wake = NULL;
    p_condition_leave(&gil->mutex);
    wake(own_wake.what);
    p_condition_enter(&gil->mutex);
    errno = why;
    if (c_wake_leaving)
        learn_habit(1);
    else
        own_wake.woke = p_now();
}

void c_wake_after_drop(struct _gil_runtime_state *gil)
{
    own_wake.is_reason = own_wake.wake != NULL;
    if (own_wake.is_reason)
        wake_now(gil);
    else if (own_wake.woke != 0)
        learn_habit(p_now() - own_wake.woke < SOON);
}

int c_wake_is_reason(void)
{
    return own_wake.is_reason;
}

void c_wakes_end(void)
{
    void (*wake)(void *what) = own_wake.wake;
    own_wake.wake = NULL;
    if (wake != NULL)
        wake(own_wake.what);
}

void c_wakes_after_fork(void)
{
    own_wake.wake = NULL;
}

int64_t c_wakes_postponed(void)
{
    return __atomic_load_n(&postponed, __ATOMIC_RELAXED);
}

/* ---- the other side ------------------------------------------------------------------------ */

void c_wake_yield(void)
{
    if (yields.needed > 0) {
        yields.needed--;
        return;
    }
    int64_t began = p_now();
    p_yield();
    if (p_now() - began > LONGEST_YIELD)
        b_spin_fail(&yields, YIELD_MOST);
    else
        yields.vain /= 2;
}

#endif
