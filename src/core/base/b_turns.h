/* Who is woken when a lock is given back, if some threads go before others.
 *
 * Most threads wait for the lock in the usual way, for a condition variable.  Threads that go first
 * do not.  Each of them is on its way, awake and sure to try the lock next, or it sleeps here.
 * Whoever gives the lock back asks b_turns_next():
 *
 * - Somebody is on its way: nobody has to be woken.  Who is woken all the same takes the processor
 *   of the one who is on its way, or the lock.
 * - Else the one who has slept here longest is woken, and is on its way from then on.
 * - If a thread that does not go first stands by, which means that it is awake and looks at the
 * lock before it sleeps, nobody has to be woken either.
 * - Else the condition variable is signalled, as without us.
 *
 * Who stands by gets the lock before those who have waited longer.  So a thread does that for a
 * limited time in a row; then it sleeps once, behind all others.
 *
 * Invariants.  A thread is counted in `coming`, or its link is in `sleepers`, or it does not go
 * first.  Once it is not on its way any more it tries the lock in the usual way, at once, before it
 * does anything else.  So where nobody is woken, the one who was on its way finds the lock free, or
 * finds another who took it and who will ask b_turns_next() in turn.
 *
 * Threads.  The lock's mutex is held in all functions but b_turns_leave() and b_turns_stands(),
 * which may come at any time.
 *
 * Rejected: sleeping for the condition variable like others (it wakes who waits longest, which is
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

/* The calling thread goes first from now on, and is on its way. */
static inline void b_turns_come(b_turns *turns)
{
    __atomic_fetch_add(&turns->coming, 1, __ATOMIC_SEQ_CST);
}

/* It was on its way, and tries the lock in the usual way now. */
static inline void b_turns_leave(b_turns *turns)
{
    __atomic_fetch_sub(&turns->coming, 1, __ATOMIC_SEQ_CST);
}

/* It was on its way, and is about to sleep. */
static inline void b_turns_sleep(b_turns *turns, b_link *link)
{
    b_append(&turns->sleepers, link);
    b_turns_leave(turns);
}

/* It has slept, and is on its way again. */
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

/* The lock is given back. */
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
