/* Whom the GIL's drop wakes.
 *
 * Whoever drops the GIL signals its condition variable, which wakes the thread that has waited
 * longest.  If a thread asked for the drop that has come back from I/O (gil.c), that is nearly
 * always another one: a second thread that computes.  Woken, it takes the GIL, or the processor on
 * which the one that asked spins; then the latter waits for as long as the system leaves a thread
 * at work, or for the switch interval.  So the interpreter's three calls around these variables
 * are intercepted (p_condition_intercept), for the whole process, at the first request or postponed
 * wake of all:
 *
 * - The signal of a drop goes to those who go first (base/b_turns.h): one that is on its way is
 * left alone, and one that sleeps is woken instead of the one that has waited longest.
 * - A thread that was on its way and finds that another was quicker waits for the GIL with
 *   PyEval_RestoreThread(), which would ask after the switch interval only.  It begins anew.
 * - A thread that has dropped the GIL on request waits until another has it.  That takes less than
 *   a sleep, so it spins for SWITCH.
 * - Then it waits for the GIL.  While a thread has it that has come back from I/O, which is about
 * to leave again, one computing thread stands by: it spins for STAND_BY instead of sleeping.  So a
 * request and its answer wake nobody but the thread that answers.
 *
 * Fairness.  The one that stands by gets the GIL before those that have waited longer, and the
 * interpreter counts that as a switch, after which nobody asks for one more interval.  So a thread
 * stands by for no longer than an interval in a row; then it sleeps, behind all others.
 *
 * Invariants.  Where a drop wakes nobody, a thread that is awake looks at the GIL next: one counted
 * in `turns`, or the one that stands by, which looks at it with the mutex before it sleeps.  A
 * count that is kept while the thread takes the GIL (`on_way`) is given back at its next drop or
 * its next sleep, whichever comes first.  So none is lost, even where nobody tells us that the
 * thread has the GIL.
 *
 * The end.  A thread that is on its way may be stopped by the interpreter.  So before the end the
 * calls are as if they were not intercepted.
 *
 * Where the calls cannot be intercepted (an interpreter that is linked statically with the C
 * library) threads ask, spin and sleep on the interpreter's variable, as described in gil.c.
 *
 * Threads.  All; the GIL's mutex is held in the intercepted calls, but for the wait for a switch,
 * in which its second mutex is.
 *
 * Rejected: asking whoever got the GIL next as well (it takes a switch for each thread that
 * computes, and the one that asks is not always at work); waking those who wait so that they line
 * up behind (a wake-up of each); a claim in the GIL's own word, before the drop is over (another
 * thread's request may then go to a thread state that has been freed); the interval, lowered for
 * a moment (seen by everybody).
 */
#include "cpython/gil_turns.h"

#include "cpython/gil_wakes.h"

#ifndef Py_GIL_DISABLED

#define SWITCH 20000
#define SWITCH_SPIN 3000
#define STAND_BY 50000

enum { NOT_TRIED, TRIES, INTERCEPTS, CANNOT };

static int interception;  /* atomic */
static int has_ended;     /* atomic */
static int in_contention; /* atomic */
static const void *drop_condition, *switch_condition;
static void (*await_first)(struct _gil_runtime_state *gil);
static int (*is_brief_holder)(uintptr_t holder);
static b_turns turns = {.sleepers = {&turns.sleepers, &turns.sleepers}};
static __thread int on_way; /* counted in `turns` while it takes the GIL */

/* The thread has had the GIL, or is about to sleep: whether it was on its way. */
static int end_way(void)
{
    int came = on_way;
    if (came)
        b_turns_leave(&turns);
    on_way = 0;
    return came;
}

static int wake_next_turn(const void *condition)
{
    b_link *woken = NULL;
    if (condition != drop_condition)
        return 0;
    int ends = __atomic_load_n(&has_ended, __ATOMIC_RELAXED);
    if (!ends)
        end_way();
    c_wake_after_drop(gil_of_interpreter());
    if (ends)
        return 0;
    b_turn turn = b_turns_next(&turns, &woken);
    if (turn == B_TURN_WAKES)
        p_unpark(&B_CONTAINER(woken, c_turn, link)->parker);
    return turn != B_TURN_USUAL;
}

/* Until another thread has the GIL, or a time is over; `or_free`: also until the GIL is free. */
static void spin_while_held(const struct _gil_runtime_state *gil, uintptr_t holder, int or_free,
                            int64_t until)
{
    while (gil_holder(gil) == holder && (gil_is_taken(gil) || !or_free) && p_now() < until)
        p_relax();
}

static int stand_by(const struct _gil_runtime_state *gil, void *mutex)
{
    uintptr_t holder = gil_holder(gil);
    int64_t now = p_now();
    if (!is_brief_holder(holder) ||
        !b_turns_stand(&turns, &on_way, now, (int64_t)gil->interval * 1000))
        return 0;
    p_condition_leave(mutex);
    spin_while_held(gil, holder, 1, now + STAND_BY);
    p_condition_enter(mutex);
    b_turns_end_stand(&turns);
    return !gil_is_taken(gil);
}

/* Another thread was quicker. */
static int come_again(struct _gil_runtime_state *gil, void *mutex)
{
    p_condition_leave(mutex);
    await_first(gil);
    p_condition_enter(mutex);
    if (!gil_is_taken(gil))
        return 1;
    end_way();
    return 0;
}

/* The other one may have been woken on the processor of this thread. */
static int await_switch(const struct _gil_runtime_state *gil, void *mutex)
{
    uintptr_t dropped = gil_holder(gil);
    int64_t now = p_now(), until = now + SWITCH;
    p_condition_leave(mutex);
    for (; gil_holder(gil) == dropped && now < until; now = p_now()) {
        spin_while_held(gil, dropped, 0, now + SWITCH_SPIN);
        if (gil_holder(gil) == dropped)
            p_yield();
    }
    p_condition_enter(mutex);
    return gil_holder(gil) != dropped;
}

static int wait_by_turns(const void *condition, void *mutex)
{
    if (condition == switch_condition && c_wake_is_reason())
        return 1;
    if (__atomic_load_n(&has_ended, __ATOMIC_RELAXED))
        return 0;
    if (condition == drop_condition) {
        struct _gil_runtime_state *gil = gil_of_interpreter();
        return end_way() ? come_again(gil, mutex) : stand_by(gil, mutex);
    }
    return condition == switch_condition && __atomic_load_n(&in_contention, __ATOMIC_RELAXED) &&
           await_switch(gil_of_interpreter(), mutex);
}

void c_turns_intercept(const struct _gil_runtime_state *gil,
                       void (*await)(struct _gil_runtime_state *gil),
                       int (*is_brief)(uintptr_t holder))
{
    static const p_condition_hooks hooks = {wake_next_turn, wait_by_turns};
    int state = NOT_TRIED;
    if (__atomic_load_n(&interception, __ATOMIC_ACQUIRE) != NOT_TRIED ||
        !__atomic_compare_exchange_n(&interception, &state, TRIES, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return;
    p_condition_learn();
    drop_condition = &gil->cond;
    switch_condition = &gil->switch_cond;
    await_first = await;
    is_brief_holder = is_brief;
    state = p_condition_intercept(Py_None, &hooks) > 0 ? INTERCEPTS : CANNOT;
    __atomic_store_n(&interception, state, __ATOMIC_RELEASE);
}

int c_turns_may_postpone(void)
{
    return __atomic_load_n(&interception, __ATOMIC_ACQUIRE) == INTERCEPTS &&
           !__atomic_load_n(&has_ended, __ATOMIC_RELAXED) && !b_turns_stands(&turns);
}

void c_turn_begin(c_turn *turn)
{
    if (turn->comes || __atomic_load_n(&interception, __ATOMIC_ACQUIRE) != INTERCEPTS)
        return;
    turn->comes = 1;
    b_turns_come(&turns);
}

void c_turn_end(c_turn *turn)
{
    if (turn->comes)
        b_turns_leave(&turns);
    turn->comes = 0;
}

void c_turn_take(c_turn *turn)
{
    on_way = turn->comes;
    turn->comes = 0;
}

void c_turn_sleep(c_turn *turn, struct _gil_runtime_state *gil, int64_t until)
{
    if (turn->comes) {
        b_turns_sleep(&turns, &turn->link);
        p_park_prepare(&turn->parker);
        p_condition_leave(&gil->mutex);
        p_park(&turn->parker, until);
        p_condition_enter(&gil->mutex);
        p_park_cancel(&turn->parker);
        b_turns_awake(&turns, &turn->link);
    } else
        p_condition_wait(&gil->cond, &gil->mutex, until);
    p_condition_leave(&gil->mutex);
}

int c_turns_stands(void)
{
    return b_turns_stands(&turns);
}

void c_turns_contended(int are)
{
    __atomic_store_n(&in_contention, are, __ATOMIC_RELAXED);
}

void c_turns_end(void)
{
    __atomic_store_n(&has_ended, 1, __ATOMIC_RELAXED);
}

void c_turns_after_fork(void)
{
    b_turns_begin(&turns);
    c_wakes_after_fork();
    on_way = 0;
}

#endif
