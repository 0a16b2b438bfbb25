/* Which waiter is woken when a lock is released, if some threads go before others.
 *
 * Most threads wait for the lock in the usual way, on a condition variable.  Threads that go first
 * do not.  Each of them is either coming, which means that it is awake and sure to try the lock
 * next, or asleep here.  The thread that releases the lock asks b_turns_next():
 *
 * - If a thread is coming, no other one has to be woken.  Woken all the same, it would take the
 *   processor of the one that is coming, or the lock.
 * - Else the one that has slept here longest is woken, and is coming from then on.
 * - Else, if a thread that does not go first stands by, no other one has to be woken either: it is
 *   awake, and looks at the lock before it sleeps.
 * - Else the condition variable is signalled, as it would be without us.
 *
 * A thread that stands by gets the lock before those that have waited longer.  So it may do that
 * for a limited time in a row; then it sleeps once, behind all others.
 *
 * Invariants.  A thread is counted in `coming`, or its link is in `sleepers`, or it does not go
 * first.  When it stops coming it tries the lock in the usual way, at once, before it does anything
 * else.  So where no thread is woken, the one that was coming finds the lock free, or finds that
 * another has taken it, which will call b_turns_next() in turn.
 *
 * Threads.  The lock's mutex is held in all functions but b_turns_leave() and b_turns_stands(),
 * which may come at any time.
 *
 * Rejected: sleeping on the condition variable like others (it wakes the longest waiter, which is
 * usually a thread that does not go first).
 */
#ifndef LOOMLET_B_TURNS_H
#define LOOMLET_B_TURNS_H

#include <stdint.h>

#include "base/b_list.h"

typedef struct {
    int coming;          /* atomic */
    int stands;          /* atomic: one stands by */
    const void *stander; /* it stands by, or did so last; only compared */
    int64_t since;       /* for the first time in a row */
    b_link sleepers;
} b_turns;

typedef enum {
    B_TURN_USUAL, /* signal the condition variable */
    B_TURN_COMES, /* wake nobody */
    B_TURN_WAKES, /* wake the one whose link was given */
} b_turn;

static inline void b_turns_begin(b_turns *turns)
{
    __atomic_store_n(&turns->coming, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&turns->stands, 0, __ATOMIC_RELAXED);
    turns->stander = NULL;
    b_list_init(&turns->sleepers);
}

/* The calling thread goes first from now on, and is coming. */
static inline void b_turns_come(b_turns *turns)
{
    __atomic_fetch_add(&turns->coming, 1, __ATOMIC_SEQ_CST);
}

/* It was coming, and tries the lock in the usual way now. */
static inline void b_turns_leave(b_turns *turns)
{
    __atomic_fetch_sub(&turns->coming, 1, __ATOMIC_SEQ_CST);
}

/* It was coming, and is about to sleep. */
static inline void b_turns_sleep(b_turns *turns, b_link *link)
{
    b_append(&turns->sleepers, link);
    b_turns_leave(turns);
}

/* It has slept, and is coming again. */
static inline void b_turns_awake(b_turns *turns, b_link *link)
{
    if (!b_linked(link))
        return;
    b_unlink(link);
    b_turns_come(turns);
}

/* Whether a thread that does not go first stands by from now on, until b_turns_end_stand(); after
 * `most` in a row it must not. */
static inline int b_turns_stand(b_turns *turns, const void *who, int64_t now, int64_t most)
{
    if (turns->stands)
        return 0;
    if (turns->stander != who) {
        turns->stander = who;
        turns->since = now;
    }
    int may = now - turns->since < most;
    if (!may)
        turns->stander = NULL;
    __atomic_store_n(&turns->stands, may, __ATOMIC_RELAXED);
    return may;
}

/* It looks at the lock before it does anything else. */
static inline void b_turns_end_stand(b_turns *turns)
{
    __atomic_store_n(&turns->stands, 0, __ATOMIC_RELAXED);
}

/* Whether one stands by; old at once without the mutex. */
static inline int b_turns_stands(const b_turns *turns)
{
    return __atomic_load_n(&turns->stands, __ATOMIC_RELAXED);
}

/* The lock is released. */
static inline b_turn b_turns_next(b_turns *turns, b_link **woken)
{
    if (__atomic_load_n(&turns->coming, __ATOMIC_SEQ_CST) > 0)
        return B_TURN_COMES;
    if (b_list_empty(&turns->sleepers))
        return turns->stands ? B_TURN_COMES : B_TURN_USUAL;
    *woken = turns->sleepers.next;
    b_turns_awake(turns, *woken);
    return B_TURN_WAKES;
}

#endif
